#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/compare/join.h"
#include "models/algorithms/execution.h"

namespace dlcost {

// A stage of an algorithm beside the kernels that ran it, per run of the model.
struct StageRow {
  std::string stage;              // "filter transform", "product", "bias and fused neighbours"
  std::optional<Flops> executed;  // on the vector pipe, as the algorithm issues it
  double launches = 0;            // 0: no kernel of its own was measured
  std::optional<double> measured_flops;
  std::optional<Seconds> time;
  std::vector<std::string> kernels;
  std::optional<double> ratio;  // measured / executed
};

// Winograd's transform and product, a split product and its reduction, a product and what other
// kernels do of its bias: every stage of the execution with the kernels whose names say that they
// ran it. Empty where one kernel ran it all.
std::vector<StageRow> StagesOf(const Execution& execution, const Measured& measured);

}  // namespace dlcost
