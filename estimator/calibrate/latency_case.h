#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/calibrate/latency_table.h"
#include "estimator/plan/kernel.h"
#include "estimator/roofline/run.h"
#include "estimator/roofline/timing_device.h"

namespace dlcost {

// A measured row as the product sees it: the kernels that were timed, in order, and how they ran.
// Nobody tells the product which algorithm that was. Times in seconds.
struct LatencyCase {
  std::string device, source, dtype;
  std::string type;  // of the operator: "gemm", "batched gemm", "prefill", "winograd", "softmax"
  std::string size;  // class by measured time: "<10us", "10-100us", "0.1-1ms", "1-10ms", ">10ms"
  double measured = 0;
  double bound = 0;         // the product's, with warm caches
  double naive = 0;         // max(FLOP/peak, bytes/bandwidth): the roofline without anything else
  double extra_launch = 0;  // what this source's timer sees beyond the model's launch costs
  bool powered = true;      // the board's power limits the kernels, as it does on numbers
  RunOptions options;
  std::vector<Kernel> kernels;
  const Device* hardware = nullptr;  // outlives the case
};

// The row's case on its device; `skipped` says why there is none (a type that the device has no
// roof for, an operator whose traffic the table does not tell). Throws Error for a malformed row.
std::optional<LatencyCase> MakeCase(LatencyKind kind, const LatencyRow& row, const Device& device,
                                    std::string* skipped);

// The product's answer with the constants of `timing`, in seconds.
TimeRange ExpectedRange(const TimingDevice& timing, const LatencyCase& row);
double ExpectedSeconds(const TimingDevice& timing, const LatencyCase& row);
// What runs in the row's last kernel, the one that a table tells of.
Execution ExecutionOf(const TimingDevice& timing, const LatencyCase& row);
// The constant that says how wide the range of a row's class is.
Constant RangeOf(const LatencyCase& row);

}  // namespace dlcost
