#pragma once

#include "models/operators/op_context.h"
#include "models/operators/op_def.h"

namespace dlcost {

// An operator of dlcost's own between the backward pass and the update: a kernel over all tensors
// of a type, which fuses with nothing.
constexpr OpDef StepOp(std::string_view name, std::string_view formula, void (*infer)(OpContext&),
                       OpCost (*cost)(const OpContext&), std::span<const OpCase> cases) {
  return {.name = name,
          .domain = "dlcost.training",
          .formula = formula,
          .infer = infer,
          .cost = cost,
          .role = FusionRole::kOpaque,
          .cases = cases};
}

// Elements of the inputs from `first` to before `last`, together.
inline Count ElementsOfInputs(const OpContext& ctx, int first, int last) {
  Count elements;
  for (int i = first; i < last; ++i) elements += ctx.InputShape(i).Elements();
  return elements;
}

}  // namespace dlcost
