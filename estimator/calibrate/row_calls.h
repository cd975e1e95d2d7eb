#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/calibrate/latency_table.h"
#include "estimator/calibrate/protocol.h"
#include "estimator/plan/kernel.h"

namespace dlcost {

// The calls that a row's stopwatch saw, as kernels that the product planned from small models.
struct RowCalls {
  std::vector<Kernel> kernels;  // in order; the last is what the row is about
  std::string type;             // LatencyCase::type
  Bytes weights;                // of a matrix product
  bool quantizes = false;       // its activations are quantized before it
  AttentionForm attention = AttentionForm::kFlash;
};

// Nothing, and why in `skipped`, for what the table does not tell. Throws Error for a malformed
// row.
std::optional<RowCalls> CallsOf(LatencyKind kind, const LatencyRow& row, DType type,
                                const Protocol& protocol, std::string* skipped);

// "fp32", "half", "fp8_block", ...
std::optional<DType> FindLatencyType(std::string_view name);
// A column that not every table has; "" where it is missing.
std::string OptionalText(const LatencyRow& row, const std::string& column);

}  // namespace dlcost
