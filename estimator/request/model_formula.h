#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "estimator/request/count_options.h"
#include "estimator/request/model_options.h"
#include "estimator/sweep/formula.h"
#include "estimator/sweep/variables.h"

namespace dlcost {

// Counts as functions of the sizes that a model and its options leave open.
struct FormulaRequest {
  ModelOptions model;
  CountOptions count;
  TiedDims tied;
  // Where structure depends on a size: the formula that holds around this one.
  std::map<std::string, std::int64_t> around;
  std::size_t scope_depth = 2;       // levels of modules to tell apart; 0: all
  std::function<void()> on_counted;  // called for each point at which the model is counted
};
Formula FormulaOf(const FormulaRequest& request);

}  // namespace dlcost
