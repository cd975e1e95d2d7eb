#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"
#include "models/operators/step_op.h"

namespace dlcost {
namespace {

// Kernels over all tensors of a type, dlcost's own: what a framework does to gradients between the
// backward pass and the update. `to` names the type of the results, by default that of the
// operands.
DType TypeOfResults(const OpContext& ctx, int first) {
  const std::int64_t to = ctx.Int("to", static_cast<std::int64_t>(ctx.InputType(first)));
  if (to <= 0 || to >= kDTypeCount) throw Error("attribute 'to' is {}", to);
  return DTypeFromOnnx(static_cast<int>(to));
}

void InferTensors(OpContext& ctx, int first) {
  const int tensors = ctx.NumInputs() - first;
  if (tensors < 1) throw Error("no tensor is given");
  for (int i = 0; i < std::min(tensors, ctx.NumOutputs()); ++i) {
    ctx.SetOutput(i, TypeOfResults(ctx, first), ctx.InputShape(first + i));
  }
  if (ctx.NumOutputs() > tensors) ctx.SetOutput(tensors, DType::kFloat32, Shape());
}

// Where types are the same, tensors change where they are.
OpCost CostTensors(const OpContext& ctx, int first) {
  OpCost cost = StreamAll(ctx);
  const bool in_place = TypeOfResults(ctx, first) == ctx.InputType(first);
  for (Access& access : cost.accesses) {
    if (!in_place || !access.is_output || access.operand >= ctx.NumInputs() - first) continue;
    access.kind = AccessKind::kInPlace;
    access.memory_of = first + access.operand;
  }
  cost.nest = ElementwiseNest{ElementsOfInputs(ctx, first, ctx.NumInputs())};
  return cost;
}

Count ElementsOfNest(const OpCost& cost) { return std::get<ElementwiseNest>(cost.nest).elements; }

// Gradients of a loss that was multiplied by input 0: each divided by it, and whether any is no
// finite number (the last output).
void InferUnscale(OpContext& ctx) { InferTensors(ctx, 1); }
OpCost CostUnscale(const OpContext& ctx) {
  OpCost cost = CostTensors(ctx, 1);
  cost.work.Add(OpClass::kMul, DType::kFloat32, ElementsOfNest(cost));
  cost.work.Add(OpClass::kCompare, ctx.InputType(1), ElementsOfNest(cost));
  return cost;
}

void InferCopyTensors(OpContext& ctx) { InferTensors(ctx, 0); }
OpCost CostCopyTensors(const OpContext& ctx) {
  OpCost cost = CostTensors(ctx, 0);
  cost.work.Add(OpClass::kConvert, ctx.InputType(0), ElementsOfNest(cost));
  return cost;
}

// All scaled down so that the norm of all together is at most a given one (input 0): once over them
// for the norm, once more to scale.
void InferClipByNorm(OpContext& ctx) { InferTensors(ctx, 1); }
OpCost CostClipByNorm(const OpContext& ctx) {
  OpCost cost = CostTensors(ctx, 1);
  for (Access& access : cost.accesses) {
    if (!access.is_output && access.operand > 0) access.bytes += access.bytes;
  }
  const DType type = ctx.InputType(1);
  cost.work.Add(OpClass::kMul, type, ElementsOfNest(cost) * 2);
  cost.work.Add(OpClass::kAdd, type, ElementsOfNest(cost));
  cost.work.Add(OpClass::kSqrt, type, 1);
  cost.work.Add(OpClass::kDiv, type, 1);
  cost.work.Add(OpClass::kCompare, type, 1);
  return cost;
}

// A sum over passes and one pass's gradient: the new sum.
void InferAccumulate(OpContext& ctx) {
  if (ctx.InputShape(0) != ctx.InputShape(1)) {
    throw Error("a gradient of the shape {} does not add to a sum of {}",
                ToString(ctx.InputShape(1)), ToString(ctx.InputShape(0)));
  }
  ctx.SetOutput(0, ctx.InputType(0), ctx.InputShape(0));
}
OpCost CostAccumulate(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  cost.accesses.back().kind = AccessKind::kInPlace;
  cost.accesses.back().memory_of = 0;
  const Count elements = ctx.InputShape(0).Elements();
  cost.work.Add(OpClass::kAdd, ctx.InputType(0), elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

constexpr OpCase kUnscaleCases[] = {
    {.what = "two tensors and whether any is infinite",
     .inputs = "f32[] f32[2,3] f32[4]",
     .outputs = "f32[2,3] f32[4] f32[]",
     .flops = 10 * 2,
     .bytes_read = 4 + 40,
     .bytes_written = 40 + 4},
    {.what = "into float32",
     .attributes = "to=1",
     .inputs = "f32[] f16[2,3]",
     .outputs = "f32[2,3] f32[]",
     .flops = 6 * 2,
     .bytes_read = 4 + 12,
     .bytes_written = 24 + 4},
};

constexpr OpCase kCopyTensorsCases[] = {
    {.what = "two tensors in another type",
     .attributes = "to=10",
     .inputs = "f32[2,3] f32[4]",
     .outputs = "f16[2,3] f16[4]",
     .bytes_read = 40,
     .bytes_written = 20},
};

// 10 elements; 1 sqrt, 1 div, 1 compare once.
constexpr OpCase kClipByNormCases[] = {
    {.what = "two tensors",
     .inputs = "f32[] f32[2,3] f32[4]",
     .outputs = "f32[2,3] f32[4]",
     .flops = 10 * 3 + 3,
     .bytes_read = 4 + 2 * 40,
     .bytes_written = 40},
};

constexpr OpCase kAccumulateCases[] = {
    {.what = "a gradient in half into a sum in float32",
     .inputs = "f32[2,3] f16[2,3]",
     .outputs = "f32[2,3]",
     .flops = 6,
     .bytes_read = 24 + 12,
     .bytes_written = 24},
};

constexpr OpDef kGradientKernelOps[] = {
    StepOp("Unscale", "1 mul, 1 compare per element", InferUnscale, CostUnscale, kUnscaleCases),
    StepOp("ClipByNorm", "2 mul, 1 add per element; 1 sqrt, 1 div, 1 compare", InferClipByNorm,
           CostClipByNorm, kClipByNormCases),
    StepOp("Accumulate", "1 add per element", InferAccumulate, CostAccumulate, kAccumulateCases),
    StepOp("CopyTensors", "1 convert per element", InferCopyTensors, CostCopyTensors,
           kCopyTensorsCases),
};

}  // namespace

std::span<const OpDef> GradientKernelOps() { return kGradientKernelOps; }

}  // namespace dlcost
