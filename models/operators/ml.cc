#include "models/operators/ml.h"

#include "estimator/core/error.h"

namespace dlcost {

MlRows RowsOf(const OpContext& ctx) {
  const Shape& x = ctx.InputShape(0);
  if (x.rank() == 1) return {1, x[0]};
  if (x.rank() != 2) throw Error("the input has rank {} where 1 or 2 is required", x.rank());
  return {x[0], x[1]};
}

std::int64_t InferLabels(OpContext& ctx, std::int64_t rows, std::string_view int_labels) {
  const auto strings = static_cast<std::int64_t>(ctx.Strings("classlabels_strings").size());
  const auto ints = static_cast<std::int64_t>(ctx.Ints(int_labels).size());
  ctx.SetOutput(0, strings > 0 ? DType::kString : DType::kInt64, Shape{rows});
  return strings > 0 ? strings : ints;
}

void AddHeldFloats(OpCost& cost, const OpContext& ctx,
                   std::initializer_list<std::string_view> attributes) {
  Count numbers;
  for (const std::string_view attribute : attributes) {
    numbers += Count(static_cast<std::int64_t>(ctx.Floats(attribute).size()));
  }
  const Bytes bytes = SizeOf(DType::kFloat32, numbers);
  AddHeld(cost, numbers, bytes, bytes);
}

void AddPostTransform(OpCost& cost, std::string_view transform, Count scores) {
  PerElement operations;
  if (transform == "SOFTMAX" || transform == "SOFTMAX_ZERO") {
    operations = {.add = 2, .div = 1, .exp = 1, .compare = 1};
  } else if (transform == "LOGISTIC") {
    operations = {.add = 1, .div = 1, .exp = 1};
  } else if (transform == "PROBIT") {
    // sqrt(2) * erfinv(2p - 1), by Winitzki's formula.
    operations = {.add = 5, .mul = 4, .sqrt = 2, .log = 1};
  } else if (transform != "NONE") {
    throw Error("post_transform is '{}'; there are NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT",
                Printable(std::string(transform)));
  }
  AddPerElement(cost.work, operations, DType::kFloat32, scores);
}

}  // namespace dlcost
