#include "models/operators/elementwise.h"

#include "estimator/core/error.h"

namespace dlcost {

void AddPerElement(Work& work, const PerElement& operations, DType type, Count elements) {
  const auto add = [&](OpClass op_class, int per_element) {
    work.Add(op_class, type, elements * Count(per_element));
  };
  add(OpClass::kAdd, operations.add);
  add(OpClass::kMul, operations.mul);
  add(OpClass::kDiv, operations.div);
  add(OpClass::kSqrt, operations.sqrt);
  add(OpClass::kExp, operations.exp);
  add(OpClass::kLog, operations.log);
  add(OpClass::kTrig, operations.trig);
  add(OpClass::kCompare, operations.compare);
  add(OpClass::kConvert, operations.convert);
  add(OpClass::kInteger, operations.integer);
}

OpCost CostPerElement(const OpContext& ctx, const PerElement& operations) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.OutputShape(0).Elements();
  AddPerElement(cost.work, operations, ctx.InputType(0), elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

OpCost CostActivation(const OpContext& ctx, const PerElement& operations) {
  OpCost cost = CostPerElement(ctx, operations);
  cost.nest = ElementwiseNest{.elements = ctx.OutputShape(0).Elements(), .activation = true};
  return cost;
}

Shape AlignedShapeB(const OpContext& ctx, int numpy_since) {
  const Shape& a = ctx.InputShape(0);
  const Shape& b = ctx.InputShape(1);
  if (ctx.opset() >= numpy_since) return b;
  if (ctx.Int("broadcast", 0) == 0) {
    if (a != b) {
      throw Error("shapes {} and {} differ, and before opset {} only broadcast=1 allows that",
                  ToString(a), ToString(b), numpy_since);
    }
    return b;
  }
  if (b.Elements() == Count(1)) return Shape();
  // Suffix matching unless `axis` says where the first dimension of b lies.
  const auto suffix = static_cast<std::int64_t>(a.rank()) - static_cast<std::int64_t>(b.rank());
  const std::int64_t axis = ctx.Int("axis", suffix);
  const auto first = static_cast<std::int64_t>(NormalizeAxis(axis, a.rank()));
  if (first > suffix) {
    throw Error("shape {} does not fit into {} from axis {}", ToString(b), ToString(a), axis);
  }
  std::vector<std::int64_t> dims = b.dims();
  dims.insert(dims.end(), static_cast<std::size_t>(suffix - first), 1);
  return Shape(std::move(dims));
}

void InferBinary(OpContext& ctx, int numpy_since, DType output_type) {
  ctx.SetOutputType(0, output_type);
  if (ctx.InputType(0) != ctx.InputType(1)) {
    throw Error("the inputs have different types, {} and {}", Name(ctx.InputType(0)),
                Name(ctx.InputType(1)));
  }
  const Shape& a = ctx.InputShape(0);
  const Shape result = Broadcast(a, AlignedShapeB(ctx, numpy_since));
  if (ctx.opset() < numpy_since && result != a) {
    throw Error("shape {} does not broadcast into {}", ToString(ctx.InputShape(1)), ToString(a));
  }
  ctx.SetOutput(0, output_type, result);
}

}  // namespace dlcost
