#pragma once

#include <optional>
#include <string>
#include <variant>

#include "estimator/measured/latency_table.h"
#include "estimator/roofline/attention_time.h"
#include "estimator/roofline/conv_time.h"
#include "estimator/roofline/elementwise_time.h"
#include "estimator/roofline/gemm_time.h"
#include "estimator/roofline/recurrent_time.h"

namespace dlcost {

struct Device;

// The convolution and what the library ran.
struct ConvCase {
  ConvProblem problem;
  std::string algorithm;  // "implicit_gemm", "gemm", "winograd", "fft"; "" where nobody says
  bool winograd_possible = false;
};

// A measured row as the time model sees it. Times in seconds.
struct LatencyCase {
  std::string device, source, dtype;
  std::string type;  // of the operator: "gemm", "batched gemm", "prefill", "winograd", "softmax"
  std::string size;  // class by measured time: "<10us", "10-100us", "0.1-1ms", "1-10ms", ">10ms"
  double measured = 0;
  double bound = 0;  // warm: what fits in the last-level cache may be there already
  double naive = 0;  // max(FLOP/peak, bytes/bandwidth): the roofline without anything else
  Conditions conditions;
  double extra_launch = 0;  // what this source's timer sees beyond the model's launch costs
  std::variant<GemmProblem, AttentionProblem, ConvCase, StreamProblem, RecurrentProblem> problem;
};

// The row's case on its device; `skipped` says why there is none (a type that the device has no
// roof for, an operator whose traffic the table does not tell). Throws Error for a malformed row.
std::optional<LatencyCase> MakeCase(LatencyKind kind, const LatencyRow& row, const Device& device,
                                    std::string* skipped);

// The model's answer, in seconds.
double ExpectedSeconds(const TimingDevice& device, const LatencyCase& row);
// The constant that says how wide the range of a row's class is.
Constant RangeOf(const LatencyCase& row);
TimeRange ExpectedRange(const TimingDevice& device, const LatencyCase& row);

}  // namespace dlcost
