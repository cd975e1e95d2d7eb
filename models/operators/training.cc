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
std::int64_t NumTensors(const OpContext& ctx, std::int64_t states) {
  const std::int64_t given = ctx.NumInputs() - 2;
  if (given <= 0 || given % (states + 2) != 0) {
    throw Error("{} inputs are not rate, count and groups of {}", ctx.NumInputs(), states + 2);
  }
  return given / (states + 2);
}

void InferOptimizer(OpContext& ctx, std::int64_t states) {
  const std::int64_t tensors = NumTensors(ctx, states);
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

// What PyTorch (torch/optim/sgd.py, adam.py, adamw.py, _multi_tensor_*) calls one after the other.
// w: parameters, g: gradients, m and v: moments, d: the denominator, a temporary.
constexpr UpdatePass kSgdPasses[] = {{"w -= r g", 2, 1, 0, 0}};
constexpr UpdatePass kMomentumPasses[] = {
    {"m *= momentum", 1, 1, 0, 1}, {"m += g", 2, 1, 1, 0}, {"w -= r m", 2, 1, 1, 0}};
constexpr UpdatePass kAdamPasses[] = {
    {"m = lerp(m, g)", 2, 1, 0, 0},       {"v *= beta2", 1, 1, 0, 1},
    {"v += (1 - beta2) g g", 2, 1, 2, 0}, {"d = sqrt(v)", 1, 1, 1, 1},
    {"d /= correction", 1, 1, 1, 1},      {"d += epsilon", 1, 1, 1, 1},
    {"w -= r m / d", 3, 1, 2, 0}};
constexpr UpdatePass kAdamWPasses[] = {
    {"w *= 1 - r decay", 1, 1, 0, 1}, {"m = lerp(m, g)", 2, 1, 0, 0},
    {"v *= beta2", 1, 1, 0, 1},       {"v += (1 - beta2) g g", 2, 1, 2, 0},
    {"d = sqrt(v)", 1, 1, 1, 1},      {"d /= correction", 1, 1, 1, 1},
    {"d += epsilon", 1, 1, 1, 1},     {"w -= r m / d", 3, 1, 3, 0}};

void SetPasses(const OpContext& ctx, std::int64_t states, std::span<const UpdatePass> passes,
               int temporaries, OpCost& cost) {
  auto update = std::make_shared<UpdatePasses>();
  update->passes = passes;
  update->temporaries = temporaries;
  const std::int64_t tensors = NumTensors(ctx, states);
  for (std::int64_t i = 0; i < tensors; ++i) {
    update->tensors.push_back(ctx.InputShape(static_cast<int>(2 + i)).Elements());
  }
  std::get<ElementwiseNest>(cost.nest).update = std::move(update);
}

OpCost CostOptimizer(const OpContext& ctx, std::int64_t states, Updates updates, bool adaptive) {
  OpCost cost = StreamAll(ctx);
  const std::int64_t tensors = NumTensors(ctx, states);
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
  SetPasses(ctx, 2, kAdamPasses, 1, cost);
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
  OpCost cost = CostOptimizer(ctx, 1, {.mul = 3 + more, .add = 2 + more}, false);
  if (more == 0) SetPasses(ctx, 1, kMomentumPasses, 0, cost);
  return cost;
}

// dlcost's own, for what ONNX has no operator: laid out alike. Sgd: w -= r g. AdamW: both moments
// (5 mul, 2 add), the root with epsilon, quotient and update (1 mul, 2 add, 1 sqrt, 1 div), decay
// of the weight (1 mul). Lion: the sign of a mix of momentum and gradient (2 mul, 1 add, 1
// compare), update with decay (2 mul, 1 add), momentum (2 mul, 1 add). Lamb: AdamW's step with
// decay (1 mul, 1 add) times the ratio of the norms of weight and step (2 mul, 2 add; per tensor 2
// sqrt, 1 div).
void InferSgd(OpContext& ctx) { InferOptimizer(ctx, 0); }
OpCost CostSgd(const OpContext& ctx) {
  OpCost cost = CostOptimizer(ctx, 0, {.mul = 1, .add = 1}, false);
  SetPasses(ctx, 0, kSgdPasses, 0, cost);
  return cost;
}

OpCost CostAdamW(const OpContext& ctx) {
  OpCost cost = CostOptimizer(ctx, 2, {.mul = 7, .add = 4}, true);
  SetPasses(ctx, 2, kAdamWPasses, 1, cost);
  return cost;
}

OpCost CostLion(const OpContext& ctx) {
  OpCost cost = CostOptimizer(ctx, 1, {.mul = 6, .add = 3}, false);
  cost.work.Add(OpClass::kCompare, ctx.InputType(2), std::get<ElementwiseNest>(cost.nest).elements);
  return cost;
}

OpCost CostLamb(const OpContext& ctx) {
  OpCost cost = CostOptimizer(ctx, 2, {.mul = 10, .add = 7}, true);
  const DType type = ctx.InputType(2);
  cost.work.Add(OpClass::kSqrt, type, NumTensors(ctx, 2) * 2);
  cost.work.Add(OpClass::kDiv, type, NumTensors(ctx, 2));
  return cost;
}

// Adafactor without momentum (Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear
// memory cost", arXiv 1804.04235, algorithms 4 and 5): squares and their sums over rows and columns
// (1 mul, 3 add), both into the states (taken per element: 2 mul, 2 add), the update from both
// roots (1 sqrt, 2 mul), its root mean square and clipping (2 mul, 1 add), step and weight (1 mul,
// 1 add). Per tensor 2 sqrt and 1 div for the scales.
OpCost CostAdafactor(const OpContext& ctx) {
  OpCost cost = CostOptimizer(ctx, 2, {.mul = 8, .add = 7}, false);
  const DType type = ctx.InputType(2);
  cost.work.Add(OpClass::kSqrt, type, std::get<ElementwiseNest>(cost.nest).elements);
  cost.work.Add(OpClass::kSqrt, type, NumTensors(ctx, 2) * 2);
  cost.work.Add(OpClass::kDiv, type, NumTensors(ctx, 2));
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

// A matrix has states per row and per column; a vector one per element, in place of the latter.
constexpr OpCase kAdafactorCases[] = {
    {.what = "a matrix and a vector",
     .inputs = "f32[] i64[] f32[2,3] f32[4] f32[2,3] f32[4] f32[2] _ f32[3] f32[4]",
     .outputs = "f32[2,3] f32[4] f32[2] _ f32[3] f32[4]",
     .flops = 10 * (8 + 7 + 1) + 2 * 3,
     .bytes_read = 12 + 80 + 8 + 28,
     .bytes_written = 40 + 8 + 28},
};

constexpr OpDef MakeTraining(std::string_view name, std::string_view formula,
                             void (*infer)(OpContext&), OpCost (*cost)(const OpContext&),
                             FusionRole role, std::span<const OpCase> cases,
                             std::string_view domain = "ai.onnx.preview.training") {
  return {.name = name,
          .domain = domain,
          .formula = formula,
          .infer = infer,
          .cost = cost,
          .role = role,
          .cases = cases};
}

constexpr OpDef kTrainingOps[] = {
    MakeTraining("Adagrad", "2 mul, 3 add, 1 sqrt, 1 div per element", InferAdagrad, CostAdagrad,
                 FusionRole::kElementwise, kAdagradCases),
    MakeTraining("Adam", "6 mul, 4 add, 1 sqrt, 1 div per element", InferAdam, CostAdam,
                 FusionRole::kElementwise, kAdamCases),
    MakeTraining("Momentum", "3 mul, 2 add per element (nesterov: 4 and 3)", InferAdagrad,
                 CostMomentum, FusionRole::kElementwise, kMomentumCases),
    MakeTraining("Gradient", "not counted: depends on the graph that is differentiated",
                 InferGradient, CostGradient, FusionRole::kOpaque, kGradientCases),
    MakeTraining("Sgd", "1 mul, 1 add per element", InferSgd, CostSgd, FusionRole::kElementwise,
                 kSgdCases, "dlcost.training"),
    MakeTraining("AdamW", "7 mul, 4 add, 1 sqrt, 1 div per element", InferAdam, CostAdamW,
                 FusionRole::kElementwise, kAdamWCases, "dlcost.training"),
    MakeTraining("Lion", "6 mul, 3 add, 1 compare per element", InferAdagrad, CostLion,
                 FusionRole::kElementwise, kLionCases, "dlcost.training"),
    MakeTraining("Lamb", "10 mul, 7 add, 1 sqrt, 1 div per element", InferAdam, CostLamb,
                 FusionRole::kElementwise, kLambCases, "dlcost.training"),
    MakeTraining("Adafactor", "8 mul, 7 add, 1 sqrt per element; 2 sqrt, 1 div per tensor",
                 InferAdam, CostAdafactor, FusionRole::kElementwise, kAdafactorCases,
                 "dlcost.training"),
};

}  // namespace

std::span<const OpDef> TrainingOps() { return kTrainingOps; }

}  // namespace dlcost
