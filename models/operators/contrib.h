#pragma once

#include <span>
#include <string_view>

#include "models/operators/op_def.h"

namespace dlcost {

// Makes the entries of a table of ONNX Runtime's operators: one version each, all of them with the
// same role in fusion unless an entry names another.
struct ContribOps {
  FusionRole usual = FusionRole::kOpaque;
  std::string_view domain = "com.microsoft";
  std::optional<IntegerInputs> integers = {};

  constexpr OpDef operator()(std::string_view name, std::string_view formula,
                             void (*infer)(OpContext&), OpCost (*cost)(const OpContext&),
                             std::span<const OpCase> cases, FusionRole role,
                             bool random = false) const {
    return {.name = name,
            .domain = domain,
            .formula = formula,
            .infer = infer,
            .cost = cost,
            .role = role,
            .cases = cases,
            .random = random,
            .integers = integers};
  }
  constexpr OpDef operator()(std::string_view name, std::string_view formula,
                             void (*infer)(OpContext&), OpCost (*cost)(const OpContext&),
                             std::span<const OpCase> cases) const {
    return (*this)(name, formula, infer, cost, cases, usual);
  }
};

}  // namespace dlcost
