#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Counting, with E elements in R groups that share statistics. Moments (AddMoments): 2(E - R) + E +
// R additions, E multiplications, 2R divisions, R reciprocal roots. BatchNormalization at
// inference: scale and shift are folded once per model, so 1 multiplication and 1 addition per
// element. In training: moments; per channel 2 multiplications and 1 addition to fold, 4 and 2 to
// update the running statistics; 1 multiplication and 1 addition per element.
// InstanceNormalization, GroupNormalization: moments; per element normalize, scale, shift (2 muls,
// 1 add). MeanVarianceNormalization: moments and 1 multiplication per element.
// LRN: square, size - 1 additions, 1 multiplication, 1 addition, a power (exp and log), 1 division.
// LpNormalization: magnitude (p = 1: a comparison, p = 2: a multiplication), sum, root, division.

// Elements over which BatchNormalization takes one mean, and how many means there are.
Count Channels(const OpContext& ctx) { return ctx.InputShape(1).Elements(); }

bool Training(const OpContext& ctx) {
  if (ctx.since() >= 14) return ctx.Int("training_mode", 0) != 0;
  if (ctx.since() < 7 && ctx.Int("is_test", 0) != 0) return false;
  for (int i = 1; i < ctx.NumOutputs(); ++i) {
    if (ctx.HasOutput(i)) return true;
  }
  return false;
}

void InferBatchNormalization(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& x = ctx.InputShape(0);
  const bool spatial = ctx.since() >= 9 || ctx.Int("spatial", 1) != 0;
  Shape channels({x.rank() > 1 ? x[1] : 1});
  if (!spatial) channels = Shape(std::vector<std::int64_t>(x.begin() + 1, x.end()));
  for (int i = 1; i <= 4; ++i) {
    if (ctx.InputShapeKnown(i) && ctx.InputShape(i) != channels) {
      throw Error("input {} has the shape {} where {} has {} channels", i,
                  ToString(ctx.InputShape(i)), ToString(x), ToString(channels));
    }
  }
  ctx.SetOutput(0, ctx.InputType(0), x);
  // Statistics: their running form is that of the inputs; saved ones (before version 14) alike.
  for (int i = 1; i < ctx.NumOutputs(); ++i) {
    if (ctx.HasOutput(i)) ctx.SetOutput(i, ctx.InputType(3), channels);
  }
}

OpCost CostBatchNormalization(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const DType type = ctx.InputType(0);
  const Count elements = ctx.InputShape(0).Elements();
  if (Training(ctx)) {
    const Count channels = Channels(ctx);
    AddMoments(cost.work, type, elements, channels);
    cost.work.Add(OpClass::kMul, type, channels * 6);
    cost.work.Add(OpClass::kAdd, type, channels * 3);
    cost.nest = ReduceNest{.outer = channels,
                           .reduce = channels > Count(0) ? elements / channels : Count(0),
                           .plane = PlaneElements(ctx.InputShape(0))};
  } else {
    cost.nest = ElementwiseNest{.elements = elements,
                                .normalizes = true,
                                .plane = PlaneElements(ctx.InputShape(0)),
                                .mixed = Bits(type) < Bits(ctx.InputType(1))};
  }
  cost.work.Add(OpClass::kMul, type, elements);
  cost.work.Add(OpClass::kAdd, type, elements);
  return cost;
}

void RequireVector(const OpContext& ctx, int input, std::int64_t size) {
  if (ctx.InputShapeKnown(input) && ctx.InputShape(input) != Shape({size})) {
    throw Error("input {} has the shape {}, not [{}]", input, ToString(ctx.InputShape(input)),
                size);
  }
}

void InferInstanceNormalization(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  RequireVector(ctx, 1, ctx.InputDim(0, 1));
  RequireVector(ctx, 2, ctx.InputDim(0, 1));
  InferSameAsInput(ctx);
}

// Moments over `groups` groups in `stage_one`, then normalize there, scale and shift in X's type.
OpCost CostGroups(const OpContext& ctx, Count groups, DType stage_one) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(0).Elements();
  AddMoments(cost.work, stage_one, elements, groups);
  cost.work.Add(OpClass::kMul, stage_one, elements);
  cost.work.Add(OpClass::kMul, ctx.InputType(0), elements);
  cost.work.Add(OpClass::kAdd, ctx.InputType(0), elements);
  cost.nest = ReduceNest{
      .outer = groups, .reduce = groups > Count(0) ? elements / groups : Count(0), .planes = true};
  return cost;
}

OpCost CostInstanceNormalization(const OpContext& ctx) {
  return CostGroups(ctx, Count(ctx.InputDim(0, 0)) * ctx.InputDim(0, 1), ctx.InputType(0));
}

void InferGroupNormalization(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const std::int64_t channels = ctx.InputDim(0, 1);
  const std::int64_t groups = ctx.RequiredInt("num_groups");
  if (groups < 1 || channels % groups != 0) {
    throw Error("{} channels do not divide into {} groups", channels, groups);
  }
  // One scale per group in version 18, per channel since 21.
  RequireVector(ctx, 1, ctx.since() < 21 ? groups : channels);
  RequireVector(ctx, 2, ctx.since() < 21 ? groups : channels);
  InferSameAsInput(ctx);
}

OpCost CostGroupNormalization(const OpContext& ctx) {
  const DType stage_one = ctx.since() < 21 ? ctx.InputType(0) : StageOneType(ctx);
  return CostGroups(ctx, Count(ctx.InputDim(0, 0)) * ctx.RequiredInt("num_groups"), stage_one);
}

// GroupNormalization with its statistics as outputs, one for each sample and group, as the gradient
// reads them. Scale and shift have a number per channel, in whatever shape: [C], [C, 1, 1].
Count NormalizedGroups(const OpContext& ctx) {
  return Count(ctx.InputDim(0, 0)) * ctx.RequiredInt("num_groups");
}

void InferGroupNormInternal(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const std::int64_t channels = ctx.InputDim(0, 1);
  const std::int64_t groups = ctx.RequiredInt("num_groups");
  if (groups < 1 || channels % groups != 0) {
    throw Error("{} channels do not divide into {} groups", channels, groups);
  }
  for (const int i : {1, 2}) {
    if (ctx.InputShapeKnown(i) && ctx.InputShape(i).Elements() != Count(channels)) {
      throw Error("input {} has the shape {} for {} channels", i, ToString(ctx.InputShape(i)),
                  channels);
    }
  }
  InferSameAsInput(ctx);
  for (const int i : {1, 2}) {
    if (ctx.HasOutput(i)) {
      ctx.SetOutput(i, ctx.InputType(1), Shape({ctx.InputDim(0, 0), groups}));
    }
  }
}

OpCost CostGroupNormInternal(const OpContext& ctx) {
  return CostGroups(ctx, NormalizedGroups(ctx), StageOneType(ctx));
}

// Inputs: dY, X, scale, mean, inverse deviation. Outputs: dX, dScale, dShift. Two sums over each
// group, dX, and sums for scale and shift, as for other normalizations (contrib_gradient.cc).
void InferGroupNormGrad(OpContext& ctx) {
  ctx.SetOutput(0, ctx.InputType(0), ctx.InputShape(1));
  for (const int i : {1, 2}) {
    if (ctx.HasOutput(i)) ctx.SetOutput(i, ctx.InputType(2), ctx.InputShape(2));
  }
}

OpCost CostGroupNormGrad(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const DType type = ctx.InputType(0);
  const Count elements = ctx.InputShape(0).Elements(), groups = NormalizedGroups(ctx);
  cost.work.Add(OpClass::kMul, type, elements * 6);
  cost.work.Add(OpClass::kAdd, type, elements * 5);
  if (ctx.HasOutput(2)) {
    cost.work.Add(OpClass::kAdd, type, Folds(elements, ctx.InputShape(2).Elements()));
  }
  cost.nest = ReduceNest{.outer = groups,
                         .reduce = groups > Count(0) ? elements / groups : Count(0),
                         .planes = true,
                         .backward = true,
                         .across = ctx.HasOutput(1)};
  return cost;
}

void InferLrn(OpContext& ctx) {
  if (ctx.RequiredInt("size") < 1) throw Error("size is {}", ctx.RequiredInt("size"));
  InferSameAsInput(ctx);
}

OpCost CostLrn(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const DType type = ctx.InputType(0);
  const Count elements = ctx.InputShape(0).Elements();
  cost.work.Add(OpClass::kMul, type, elements * 2);
  cost.work.Add(OpClass::kAdd, type, elements * ctx.RequiredInt("size"));
  cost.work.Add(OpClass::kExp, type, elements);
  cost.work.Add(OpClass::kLog, type, elements);
  cost.work.Add(OpClass::kDiv, type, elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

OpCost CostMeanVarianceNormalization(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Shape& x = ctx.InputShape(0);
  std::vector<bool> reduced(x.rank(), false);
  for (const std::int64_t axis : ctx.Ints("axes", {0, 2, 3})) {
    reduced[NormalizeAxis(axis, x.rank())] = true;
  }
  Count groups = 1, reduce = 1;
  for (std::size_t i = 0; i < x.rank(); ++i) (reduced[i] ? reduce : groups) *= x[i];
  const Count elements = x.Elements();
  AddMoments(cost.work, ctx.InputType(0), elements, groups);
  cost.work.Add(OpClass::kMul, ctx.InputType(0), elements);
  cost.nest = ReduceNest{.outer = groups, .reduce = reduce};
  return cost;
}

OpCost CostLpNormalization(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const DType type = ctx.InputType(0);
  const Shape& x = ctx.InputShape(0);
  const std::int64_t reduce = x.At(ctx.Int("axis", -1));
  const std::int64_t p = ctx.Int("p", 2);
  if (p != 1 && p != 2) throw Error("p is {}, not 1 or 2", p);
  const Count elements = x.Elements();
  const Count groups = reduce > 0 ? elements / reduce : Count(0);
  cost.work.Add(p == 1 ? OpClass::kCompare : OpClass::kMul, type, elements);
  cost.work.Add(OpClass::kAdd, type, Folds(elements, groups));
  if (p == 2) cost.work.Add(OpClass::kSqrt, type, groups);
  cost.work.Add(OpClass::kDiv, type, elements);
  cost.nest = ReduceNest{.outer = groups, .reduce = reduce};
  return cost;
}

// E = 64 * 56 * 56 = 200,704.
constexpr OpCase kBatchNormalizationCases[] = {
    {.what = "inference: one multiplication, one addition",
     .inputs = "f32[1,64,56,56] w:f32[64] w:f32[64] w:f32[64] w:f32[64]",
     .outputs = "f32[1,64,56,56]",
     .flops = 2 * 200704,
     .bytes_read = 4 * (200704 + 4 * 64),
     .bytes_written = 4 * 200704},
    {.what = "training, E = 24, R = 3: moments 42+3+24 add, 24 mul, 6 div, 3 sqrt",
     .attributes = "training_mode=1",
     .inputs = "f16[2,3,4] f32[3] f32[3] f32[3] f32[3]",
     .outputs = "f16[2,3,4] f32[3] f32[3]",
     .flops = 69 + 24 + 6 + 3 + 9 * 3 + 2 * 24,
     .bytes_read = 48 + 48,
     .bytes_written = 48 + 24},
    {.what = "opset 7, not spatial: a mean for every feature",
     .attributes = "spatial=0",
     .inputs = "f32[2,3,4] f32[3,4] f32[3,4] f32[3,4] f32[3,4]",
     .outputs = "f32[2,3,4]",
     .flops = 48,
     .bytes_read = 4 * (24 + 48),
     .bytes_written = 96,
     .opset = 7},
    {.what = "opset 7, all five outputs: training",
     .inputs = "f32[2,3,4] f32[3] f32[3] f32[3] f32[3]",
     .outputs = "f32[2,3,4] f32[3] f32[3] f32[3] f32[3]",
     .flops = 69 + 24 + 6 + 3 + 9 * 3 + 2 * 24,
     .bytes_read = 4 * (24 + 12),
     .bytes_written = 4 * (24 + 12),
     .opset = 7},
};

constexpr OpCase kBatchNormInternalCases[] = {
    {.what = "E = 24, R = 3, as BatchNormalization in training",
     .inputs = "f32[2,3,4] f32[3] f32[3] f32[3] f32[3]",
     .outputs = "f32[2,3,4] f32[3] f32[3] f32[3] f32[3]",
     .flops = 69 + 24 + 6 + 3 + 9 * 3 + 2 * 24,
     .bytes_read = 4 * (24 + 12),
     .bytes_written = 4 * (24 + 12)},
};

// E = 24, R = 6: additions 36 + 24 + 6 + 24, multiplications 24 + 48, divisions 12, roots 6.
constexpr OpCase kInstanceNormalizationCases[] = {
    {.what = "2 images, 3 channels",
     .inputs = "f32[2,3,4] f32[3] f32[3]",
     .outputs = "f32[2,3,4]",
     .flops = 90 + 72 + 12 + 6,
     .bytes_read = 4 * 30,
     .bytes_written = 96},
};

// E = 32, R = 4: additions 56 + 32 + 4 + 32, multiplications 32 + 64, divisions 8, roots 4.
constexpr OpCase kGroupNormalizationCases[] = {
    {.what = "2 groups of 2 channels, statistics in f32",
     .attributes = "num_groups=2",
     .inputs = "f16[2,4,4] f16[4] f16[4]",
     .outputs = "f16[2,4,4]",
     .flops = 124 + 96 + 8 + 4,
     .bytes_read = 2 * 40,
     .bytes_written = 64},
    {.what = "version 18: a scale per group",
     .attributes = "num_groups=2",
     .inputs = "f32[2,4,4] f32[2] f32[2]",
     .outputs = "f32[2,4,4]",
     .flops = 124 + 96 + 8 + 4,
     .bytes_read = 4 * 36,
     .bytes_written = 128,
     .opset = 18},
};

constexpr OpCase kGroupNormInternalCases[] = {
    {.what = "2 groups of 2 channels, as GroupNormalization",
     .attributes = "num_groups=2",
     .inputs = "f32[2,4,4] f32[4,1] f32[4,1]",
     .outputs = "f32[2,4,4] f32[2,2] f32[2,2]",
     .flops = 124 + 96 + 8 + 4,
     .bytes_read = 4 * 40,
     .bytes_written = 4 * (32 + 8)},
};

// E = 32: 6 multiplications and 5 additions each, 28 more to fold dShift.
constexpr OpCase kGroupNormGradCases[] = {
    {.what = "2 groups of 2 channels",
     .attributes = "num_groups=2",
     .inputs = "f32[2,4,4] f32[2,4,4] f32[4] f32[2,2] f32[2,2]",
     .outputs = "f32[2,4,4] f32[4] f32[4]",
     .flops = 192 + 160 + 28,
     .bytes_read = 4 * (64 + 4 + 8),
     .bytes_written = 4 * (32 + 8)},
};

// Per element: 2 multiplications, 4 + 1 additions, 1 division.
constexpr OpCase kLrnCases[] = {
    {.what = "AlexNet's size 5",
     .attributes = "size=5",
     .inputs = "f32[1,96,55,55]",
     .outputs = "f32[1,96,55,55]",
     .flops = 290400 * 8,
     .bytes_read = 1161600,
     .bytes_written = 1161600},
};

// E = 32, R = 4: additions 56 + 32 + 4, multiplications 64, divisions 8, roots 4.
constexpr OpCase kMeanVarianceNormalizationCases[] = {
    {.what = "per channel",
     .inputs = "f32[2,4,2,2]",
     .outputs = "f32[2,4,2,2]",
     .flops = 92 + 64 + 8 + 4,
     .bytes_read = 128,
     .bytes_written = 128},
};

// Per row: 4 squares, 3 additions, 1 root, 4 divisions.
constexpr OpCase kLpNormalizationCases[] = {
    {.what = "euclidean, last axis",
     .inputs = "f32[3,4]",
     .outputs = "f32[3,4]",
     .flops = 3 * 12,
     .bytes_read = 48,
     .bytes_written = 48},
};

constexpr OpDef kNormalizationOps[] = {
    {.name = "BatchNormalization",
     .since = {1, 6, 7, 9, 14, 15},
     .formula = "inference: 1 mul, 1 add per element; training: moments besides",
     .infer = InferBatchNormalization,
     .cost = CostBatchNormalization,
     .role = FusionRole::kElementwise,
     .cases = kBatchNormalizationCases},
    {.name = "InstanceNormalization",
     .since = {1, 6, 22},
     .formula = "moments per channel; 2 mul, 1 add per element",
     .infer = InferInstanceNormalization,
     .cost = CostInstanceNormalization,
     .role = FusionRole::kNormalization,
     .cases = kInstanceNormalizationCases},
    {.name = "GroupNormalization",
     .since = {18, 21},
     .formula = "moments per group; 2 mul, 1 add per element",
     .infer = InferGroupNormalization,
     .cost = CostGroupNormalization,
     .role = FusionRole::kNormalization,
     .cases = kGroupNormalizationCases},
    {.name = "GroupNormInternal",
     .domain = "dlcost.training",
     .formula = "moments per group; 2 mul, 1 add per element",
     .infer = InferGroupNormInternal,
     .cost = CostGroupNormInternal,
     .role = FusionRole::kNormalization,
     .cases = kGroupNormInternalCases},
    {.name = "GroupNormGrad",
     .domain = "dlcost.training",
     .formula = "6 mul, 5 add per element; 1 add for dShift",
     .infer = InferGroupNormGrad,
     .cost = CostGroupNormGrad,
     .role = FusionRole::kNormalization,
     .cases = kGroupNormGradCases},
    // The training form of ONNX Runtime's training graphs: running statistics, then those of the
    // batch, which the gradient reads.
    {.name = "BatchNormInternal",
     .domain = "com.microsoft",
     .formula = "moments; 1 mul, 1 add per element; 6 mul, 3 add per channel",
     .infer = InferBatchNormalization,
     .cost = CostBatchNormalization,
     .role = FusionRole::kNormalization,
     .cases = kBatchNormInternalCases},
    {.name = "LRN",
     .since = {1, 13},
     .formula = "2 mul, size adds, 1 exp, 1 log, 1 div per element",
     .infer = InferLrn,
     .cost = CostLrn,
     .role = FusionRole::kOpaque,
     .cases = kLrnCases},
    {.name = "MeanVarianceNormalization",
     .since = {9, 13},
     .formula = "moments; 1 mul per element",
     .infer = InferSameAsInput,
     .cost = CostMeanVarianceNormalization,
     .role = FusionRole::kNormalization,
     .cases = kMeanVarianceNormalizationCases},
    {.name = "LpNormalization",
     .since = {1, 22},
     .formula = "p = 2: 1 mul, 1 add, 1 div per element, 1 sqrt per row",
     .infer = InferSameAsInput,
     .cost = CostLpNormalization,
     .role = FusionRole::kNormalization,
     .cases = kLpNormalizationCases},
};

}  // namespace

std::span<const OpDef> NormalizationOps() { return kNormalizationOps; }

}  // namespace dlcost
