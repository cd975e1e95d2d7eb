#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// ONNX's training operators (ai.onnx.preview.training). Counting per element of the optimized
// tensors, as the specification's pseudo code is written; a regularization whose coefficient is 0
// is not done. The learning rate is adjusted once per node.
// Adagrad: 2 mul, 3 add, 1 sqrt, 1 div; Adam: 6 mul, 4 add, 1 sqrt, 1 div; Momentum: 3 mul, 2 add
// (nesterov 4 and 3). norm_coefficient: 1 mul, 1 add more; norm_coefficient_post: 1 mul more.

// Inputs: R, T, then `states` + 2 groups of tensors: X, gradient, states. Outputs: X, states.
std::int64_t TensorsOf(const OpContext& ctx, std::int64_t states) {
  const std::int64_t given = ctx.NumInputs() - 2;
  if (given <= 0 || given % (states + 2) != 0) {
    throw Error("{} inputs are not rate, count and groups of {}", ctx.NumInputs(), states + 2);
  }
  return given / (states + 2);
}

void InferOptimizer(OpContext& ctx, std::int64_t states) {
  const std::int64_t tensors = TensorsOf(ctx, states);
  for (std::int64_t out = 0; out < ctx.NumOutputs(); ++out) {
    const std::int64_t group = out / tensors;  // 0: X; then the states, behind the gradients
    const auto input = static_cast<int>(2 + (group == 0 ? 0 : group + 1) * tensors + out % tensors);
    if (group > states) throw Error("{} outputs, more than there are tensors", ctx.NumOutputs());
    if (!ctx.HasInput(input)) continue;  // a state that this tensor does not have
    ctx.SetOutput(static_cast<int>(out), ctx.InputType(input), ctx.InputShape(input));
  }
}

struct Updates {
  std::int64_t mul, add;
};

OpCost CostOptimizer(const OpContext& ctx, std::int64_t states, Updates updates, bool adaptive) {
  OpCost cost = StreamAll(ctx);
  const std::int64_t tensors = TensorsOf(ctx, states);
  for (Access& access : cost.accesses) {
    // Tensors and states are updated where they are.
    if (!access.is_output) continue;
    const std::int64_t group = access.operand / tensors;
    access.kind = AccessKind::kInPlace;
    access.memory_of =
        static_cast<int>(2 + (group == 0 ? 0 : group + 1) * tensors + access.operand % tensors);
  }
  const DType type = ctx.InputType(2);
  if (ctx.Float("norm_coefficient", 0) != 0) {
    ++updates.mul;
    ++updates.add;
  }
  Count elements;
  for (std::int64_t i = 0; i < tensors; ++i) {
    elements += ctx.InputShape(static_cast<int>(2 + i)).Elements();
  }
  cost.work.Add(OpClass::kMul, type, elements * updates.mul);
  cost.work.Add(OpClass::kAdd, type, elements * updates.add);
  if (adaptive) {
    cost.work.Add(OpClass::kSqrt, type, elements);
    cost.work.Add(OpClass::kDiv, type, elements);
  }
  cost.nest = ElementwiseNest{elements};
  return cost;
}

void InferAdagrad(OpContext& ctx) { InferOptimizer(ctx, 1); }
void InferAdam(OpContext& ctx) { InferOptimizer(ctx, 2); }

// R / (1 + T * decay).
OpCost CostAdagrad(const OpContext& ctx) {
  OpCost cost = CostOptimizer(ctx, 1, {.mul = 2, .add = 3}, true);
  const DType type = ctx.InputType(0);
  cost.work.Add(OpClass::kMul, type, 1);
  cost.work.Add(OpClass::kAdd, type, 1);
  cost.work.Add(OpClass::kDiv, type, 1);
  return cost;
}

// R * sqrt(1 - beta^T) / (1 - alpha^T).
OpCost CostAdam(const OpContext& ctx) {
  const std::int64_t post = ctx.Float("norm_coefficient_post", 0) != 0 ? 1 : 0;
  OpCost cost = CostOptimizer(ctx, 2, {.mul = 6 + post, .add = 4}, true);
  const DType type = ctx.InputType(0);
  cost.work.Add(OpClass::kExp, type, 2);
  cost.work.Add(OpClass::kLog, type, 2);
  cost.work.Add(OpClass::kAdd, type, 2);
  cost.work.Add(OpClass::kSqrt, type, 1);
  cost.work.Add(OpClass::kMul, type, 1);
  cost.work.Add(OpClass::kDiv, type, 1);
  return cost;
}

OpCost CostMomentum(const OpContext& ctx) {
  const std::string mode = ctx.String("mode", "standard");
  if (mode != "standard" && mode != "nesterov") {
    throw Error("mode '{}' is not one of standard, nesterov", Printable(mode));
  }
  const std::int64_t more = mode == "nesterov" ? 1 : 0;
  return CostOptimizer(ctx, 1, {.mul = 3 + more, .add = 2 + more}, false);
}

// dlcost's own, for what ONNX has no operator: laid out alike. Sgd: w -= r g. AdamW: both moments
// (5 mul, 2 add), the root with epsilon, quotient and update (1 mul, 2 add, 1 sqrt, 1 div), decay
// of the weight (1 mul). Lion: the sign of a mix of momentum and gradient (2 mul, 1 add, 1
// compare), update with decay (2 mul, 1 add), momentum (2 mul, 1 add). Lamb: AdamW's step with
// decay (1 mul, 1 add) times the ratio of the norms of weight and step (2 mul, 2 add; per tensor 2
// sqrt, 1 div).
void InferSgd(OpContext& ctx) { InferOptimizer(ctx, 0); }
OpCost CostSgd(const OpContext& ctx) { return CostOptimizer(ctx, 0, {.mul = 1, .add = 1}, false); }

OpCost CostAdamW(const OpContext& ctx) { return CostOptimizer(ctx, 2, {.mul = 7, .add = 4}, true); }

OpCost CostLion(const OpContext& ctx) {
  OpCost cost = CostOptimizer(ctx, 1, {.mul = 6, .add = 3}, false);
  cost.work.Add(OpClass::kCompare, ctx.InputType(2), std::get<ElementwiseNest>(cost.nest).elements);
  return cost;
}

OpCost CostLamb(const OpContext& ctx) {
  OpCost cost = CostOptimizer(ctx, 2, {.mul = 10, .add = 7}, true);
  const DType type = ctx.InputType(2);
  cost.work.Add(OpClass::kSqrt, type, TensorsOf(ctx, 2) * 2);
  cost.work.Add(OpClass::kDiv, type, TensorsOf(ctx, 2));
  return cost;
}

// Muon in two nodes around products: MuonMomentum takes gradients and momenta to updates in
// bfloat16, divided by their norms, and new momenta: a mix into the momentum and one of both (2
// mul, 4 add), the norm (1 mul, 1 add; per tensor 1 sqrt, 1 div), division and conversion (1 mul, 1
// convert). Inputs: gradients, momenta; outputs: updates, momenta. MuonUpdate: weights decay (1
// mul) and move by rate and shape's factor times the orthogonal update (1 mul, 1 add). Inputs:
// rate, weights, updates.
void InferMuonMomentum(OpContext& ctx) {
  const int tensors = ctx.NumInputs() / 2;
  for (int i = 0; i < tensors && tensors + i < ctx.NumInputs(); ++i) {
    ctx.SetOutput(i, DType::kBfloat16, ctx.InputShape(i));
    ctx.SetOutput(tensors + i, ctx.InputType(tensors + i), ctx.InputShape(tensors + i));
  }
}

Count ElementsOfInputs(const OpContext& ctx, int first, int last) {
  Count elements;
  for (int i = first; i < last; ++i) elements += ctx.InputShape(i).Elements();
  return elements;
}

OpCost CostMuonMomentum(const OpContext& ctx) {
  if (ctx.NumInputs() == 0 || ctx.NumInputs() % 2 != 0) {
    throw Error("{} inputs are not gradients and as many momenta", ctx.NumInputs());
  }
  const int tensors = ctx.NumInputs() / 2;
  OpCost cost = StreamAll(ctx);
  for (Access& access : cost.accesses) {
    if (!access.is_output || access.operand < tensors) continue;
    access.kind = AccessKind::kInPlace;
    access.memory_of = access.operand;
  }
  const DType type = ctx.InputType(tensors);
  const Count elements = ElementsOfInputs(ctx, 0, tensors);
  cost.work.Add(OpClass::kMul, type, elements * 4);
  cost.work.Add(OpClass::kAdd, type, elements * 5);
  cost.work.Add(OpClass::kConvert, type, elements);
  cost.work.Add(OpClass::kSqrt, type, tensors);
  cost.work.Add(OpClass::kDiv, type, tensors);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

void InferMuonUpdate(OpContext& ctx) {
  const int tensors = (ctx.NumInputs() - 1) / 2;
  for (int i = 0; i < tensors; ++i) ctx.SetOutput(i, ctx.InputType(1 + i), ctx.InputShape(1 + i));
}

OpCost CostMuonUpdate(const OpContext& ctx) {
  if (ctx.NumInputs() < 3 || ctx.NumInputs() % 2 == 0) {
    throw Error("{} inputs are not a rate, weights and as many updates", ctx.NumInputs());
  }
  OpCost cost = StreamAll(ctx);
  for (Access& access : cost.accesses) {
    if (!access.is_output) continue;
    access.kind = AccessKind::kInPlace;
    access.memory_of = 1 + access.operand;
  }
  const Count elements = ElementsOfInputs(ctx, 1, 1 + (ctx.NumInputs() - 1) / 2);
  cost.work.Add(OpClass::kMul, ctx.InputType(1), elements * 2);
  cost.work.Add(OpClass::kAdd, ctx.InputType(1), elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

constexpr OpCase kMuonMomentumCases[] = {
    {.what = "two tensors; 1 sqrt and 1 div each",
     .inputs = "f32[2,3] f32[4,1] f32[2,3] f32[4,1]",
     .outputs = "bf16[2,3] bf16[4,1] f32[2,3] f32[4,1]",
     .flops = 10 * 9 + 2 * 2,
     .bytes_read = 80,
     .bytes_written = 20 + 40},
};
constexpr OpCase kMuonUpdateCases[] = {
    {.what = "a matrix",
     .inputs = "f32[] f32[2,3] bf16[2,3]",
     .outputs = "f32[2,3]",
     .flops = 6 * 3,
     .bytes_read = 4 + 24 + 12,
     .bytes_written = 24},
};

// Adafactor without momentum (Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear
// memory cost", arXiv 1804.04235, algorithms 4 and 5): squares and their sums over rows and columns
// (1 mul, 3 add), both into the states (taken per element: 2 mul, 2 add), the update from both
// roots (1 sqrt, 2 mul), its root mean square and clipping (2 mul, 1 add), step and weight (1 mul,
// 1 add). Per tensor 2 sqrt and 1 div for the scales.
OpCost CostAdafactor(const OpContext& ctx) {
  OpCost cost = CostOptimizer(ctx, 2, {.mul = 8, .add = 7}, false);
  const DType type = ctx.InputType(2);
  cost.work.Add(OpClass::kSqrt, type, std::get<ElementwiseNest>(cost.nest).elements);
  cost.work.Add(OpClass::kSqrt, type, TensorsOf(ctx, 2) * 2);
  cost.work.Add(OpClass::kDiv, type, TensorsOf(ctx, 2));
  return cost;
}

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
  Count elements;
  for (int i = first; i < ctx.NumInputs(); ++i) elements += ctx.InputShape(i).Elements();
  cost.nest = ElementwiseNest{elements};
  return cost;
}

Count ElementsOf(const OpCost& cost) { return std::get<ElementwiseNest>(cost.nest).elements; }

// Gradients of a loss that was multiplied by input 0: each divided by it, and whether any is no
// finite number (the last output).
void InferUnscale(OpContext& ctx) { InferTensors(ctx, 1); }
OpCost CostUnscale(const OpContext& ctx) {
  OpCost cost = CostTensors(ctx, 1);
  cost.work.Add(OpClass::kMul, DType::kFloat32, ElementsOf(cost));
  cost.work.Add(OpClass::kCompare, ctx.InputType(1), ElementsOf(cost));
  return cost;
}

void InferCopyTensors(OpContext& ctx) { InferTensors(ctx, 0); }
OpCost CostCopyTensors(const OpContext& ctx) {
  OpCost cost = CostTensors(ctx, 0);
  cost.work.Add(OpClass::kConvert, ctx.InputType(0), ElementsOf(cost));
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
  cost.work.Add(OpClass::kMul, type, ElementsOf(cost) * 2);
  cost.work.Add(OpClass::kAdd, type, ElementsOf(cost));
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

// The i-th output is the derivative to the i-th of xs, the first inputs. What it takes depends on
// the graph between xs and y.
void InferGradient(OpContext& ctx) {
  for (int i = 0; i < ctx.NumOutputs(); ++i) {
    if (ctx.HasOutput(i)) ctx.SetOutput(i, ctx.InputType(i), ctx.InputShape(i));
  }
}

OpCost CostGradient(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  cost.status = NodeStatus::kBounded;
  cost.note = "the work of differentiating the graph is not counted";
  return cost;
}

// 6 elements; 3 once.
constexpr OpCase kAdagradCases[] = {
    {.what = "one tensor, regularized",
     .attributes = "norm_coefficient=0.5",
     .inputs = "f32[] i64[] f32[2,3] f32[2,3] f32[2,3]",
     .outputs = "f32[2,3] f32[2,3]",
     .flops = 6 * (3 + 4 + 2) + 3,
     .bytes_read = 12 + 72,
     .bytes_written = 48},
};

// 6 + 4 elements; 2 add, 1 sqrt, 1 mul, 1 div once.
constexpr OpCase kAdamCases[] = {
    {.what = "two tensors",
     .inputs = "f32[] i64[] f32[2,3] f32[4] f32[2,3] f32[4] f32[2,3] f32[4] f32[2,3] f32[4]",
     .outputs = "f32[2,3] f32[4] f32[2,3] f32[4] f32[2,3] f32[4]",
     .flops = 10 * (6 + 4 + 2) + 5,
     .bytes_read = 12 + 160,
     .bytes_written = 120},
};

constexpr OpCase kMomentumCases[] = {
    {.what = "standard",
     .attributes = "mode='standard' alpha=0.9 beta=1.0 norm_coefficient=0.0",
     .inputs = "f32[] i64[] f32[2,3] f32[2,3] f32[2,3]",
     .outputs = "f32[2,3] f32[2,3]",
     .flops = 6 * 5,
     .bytes_read = 12 + 72,
     .bytes_written = 48},
    {.what = "nesterov, regularized",
     .attributes = "mode='nesterov' alpha=0.9 beta=1.0 norm_coefficient=0.1",
     .inputs = "f32[] i64[] f32[2,3] f32[2,3] f32[2,3]",
     .outputs = "f32[2,3] f32[2,3]",
     .flops = 6 * (5 + 4),
     .bytes_read = 12 + 72,
     .bytes_written = 48},
};

constexpr OpCase kGradientCases[] = {
    {.what = "with respect to the first two of three inputs",
     .attributes = "xs=['a','b'] zs=['c'] y='y'",
     .inputs = "f32[2,3] f32[3] f32[2]",
     .outputs = "f32[2,3] f32[3]",
     .bytes_read = 24 + 12 + 8,
     .bytes_written = 24 + 12},
};

constexpr OpCase kSgdCases[] = {
    {.what = "two tensors",
     .inputs = "f32[] i64[] f32[2,3] f32[4] f32[2,3] f32[4]",
     .outputs = "f32[2,3] f32[4]",
     .flops = 10 * 2,
     .bytes_read = 12 + 80,
     .bytes_written = 40},
};

constexpr OpCase kAdamWCases[] = {
    {.what = "one tensor",
     .inputs = "f32[] i64[] f32[2,3] f32[2,3] f32[2,3] f32[2,3]",
     .outputs = "f32[2,3] f32[2,3] f32[2,3]",
     .flops = 6 * (7 + 4 + 2),
     .bytes_read = 12 + 96,
     .bytes_written = 72},
};

constexpr OpCase kLionCases[] = {
    {.what = "one tensor",
     .inputs = "f32[] i64[] f32[2,3] f32[2,3] f32[2,3]",
     .outputs = "f32[2,3] f32[2,3]",
     .flops = 6 * (6 + 3 + 1),
     .bytes_read = 12 + 72,
     .bytes_written = 48},
};

constexpr OpCase kLambCases[] = {
    {.what = "one tensor; 2 sqrt and 1 div for the norms",
     .inputs = "f32[] i64[] f32[2,3] f32[2,3] f32[2,3] f32[2,3]",
     .outputs = "f32[2,3] f32[2,3] f32[2,3]",
     .flops = 6 * (10 + 7 + 2) + 3,
     .bytes_read = 12 + 96,
     .bytes_written = 72},
};

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

// A matrix has states per row and per column; a vector one per element, in place of the latter.
constexpr OpCase kAdafactorCases[] = {
    {.what = "a matrix and a vector",
     .inputs = "f32[] i64[] f32[2,3] f32[4] f32[2,3] f32[4] f32[2] _ f32[3] f32[4]",
     .outputs = "f32[2,3] f32[4] f32[2] _ f32[3] f32[4]",
     .flops = 10 * (8 + 7 + 1) + 2 * 3,
     .bytes_read = 12 + 80 + 8 + 28,
     .bytes_written = 40 + 8 + 28},
};

constexpr OpDef Make(std::string_view name, std::string_view formula, void (*infer)(OpContext&),
                     OpCost (*cost)(const OpContext&), FusionRole role,
                     std::span<const OpCase> cases,
                     std::string_view domain = "ai.onnx.preview.training") {
  return {.name = name,
          .domain = domain,
          .formula = formula,
          .infer = infer,
          .cost = cost,
          .role = role,
          .cases = cases};
}

constexpr OpDef kOps[] = {
    Make("Adagrad", "2 mul, 3 add, 1 sqrt, 1 div per element", InferAdagrad, CostAdagrad,
         FusionRole::kElementwise, kAdagradCases),
    Make("Adam", "6 mul, 4 add, 1 sqrt, 1 div per element", InferAdam, CostAdam,
         FusionRole::kElementwise, kAdamCases),
    Make("Momentum", "3 mul, 2 add per element (nesterov: 4 and 3)", InferAdagrad, CostMomentum,
         FusionRole::kElementwise, kMomentumCases),
    Make("Gradient", "not counted: depends on the graph that is differentiated", InferGradient,
         CostGradient, FusionRole::kOpaque, kGradientCases),
    Make("Sgd", "1 mul, 1 add per element", InferSgd, CostSgd, FusionRole::kElementwise, kSgdCases,
         "dlcost.training"),
    Make("AdamW", "7 mul, 4 add, 1 sqrt, 1 div per element", InferAdam, CostAdamW,
         FusionRole::kElementwise, kAdamWCases, "dlcost.training"),
    Make("Lion", "6 mul, 3 add, 1 compare per element", InferAdagrad, CostLion,
         FusionRole::kElementwise, kLionCases, "dlcost.training"),
    Make("Lamb", "10 mul, 7 add, 1 sqrt, 1 div per element", InferAdam, CostLamb,
         FusionRole::kElementwise, kLambCases, "dlcost.training"),
    Make("Unscale", "1 mul, 1 compare per element", InferUnscale, CostUnscale, FusionRole::kOpaque,
         kUnscaleCases, "dlcost.training"),
    Make("ClipByNorm", "2 mul, 1 add per element; 1 sqrt, 1 div, 1 compare", InferClipByNorm,
         CostClipByNorm, FusionRole::kOpaque, kClipByNormCases, "dlcost.training"),
    Make("Accumulate", "1 add per element", InferAccumulate, CostAccumulate, FusionRole::kOpaque,
         kAccumulateCases, "dlcost.training"),
    Make("Adafactor", "8 mul, 7 add, 1 sqrt per element; 2 sqrt, 1 div per tensor", InferAdam,
         CostAdafactor, FusionRole::kElementwise, kAdafactorCases, "dlcost.training"),
    Make("MuonMomentum", "4 mul, 5 add, 1 convert per element; 1 sqrt, 1 div per tensor",
         InferMuonMomentum, CostMuonMomentum, FusionRole::kOpaque, kMuonMomentumCases,
         "dlcost.training"),
    Make("MuonUpdate", "2 mul, 1 add per element", InferMuonUpdate, CostMuonUpdate,
         FusionRole::kOpaque, kMuonUpdateCases, "dlcost.training"),
    Make("CopyTensors", "1 convert per element", InferCopyTensors, CostCopyTensors,
         FusionRole::kOpaque, kCopyTensorsCases, "dlcost.training"),
};

}  // namespace

std::span<const OpDef> TrainingOps() { return kOps; }

}  // namespace dlcost
