#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/elementwise.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// A draw of the generator counts 1 in class integer: ONNX leaves the generator open. A normal
// number is a Box-Muller transform of draws: log, sqrt, sin or cos, and a product.

DType TypeOrFallback(const OpContext& ctx, DType fallback) {
  if (!ctx.HasAttribute("dtype")) return fallback;
  const std::int64_t number = ctx.Int("dtype", 0);
  const DType type = number > 0 && number < kDTypeCount ? DTypeFromOnnx(static_cast<int>(number))
                                                        : DType::kUndefined;
  if (type == DType::kUndefined) throw Error("type {} of attribute 'dtype' is not known", number);
  return type;
}

void InferRandom(OpContext& ctx) {
  const DType type = TypeOrFallback(ctx, DType::kFloat32);
  ctx.SetOutputType(0, type);
  ctx.SetOutput(0, type, Shape(ctx.RequiredInts("shape")));
}

void InferRandomLike(OpContext& ctx) {
  const DType type =
      ctx.HasAttribute("dtype") ? TypeOrFallback(ctx, DType::kFloat32) : ctx.InputType(0);
  ctx.SetOutputType(0, type);
  ctx.SetOutput(0, type, ctx.InputShape(0));
}

// Only the shape of an input matters.
OpCost CostDraws(const OpContext& ctx, const PerElement& operations) {
  OpCost cost;
  AddWrite(cost, ctx, 0);
  const Count elements = ctx.OutputShape(0).Elements();
  AddPerElement(cost.work, operations, ctx.OutputType(0), elements);
  cost.work.Add(OpClass::kInteger, DType::kUint32, elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

OpCost CostUniform(const OpContext& ctx) { return CostDraws(ctx, {.add = 1, .mul = 1}); }
OpCost CostNormal(const OpContext& ctx) {
  return CostDraws(ctx, {.add = 1, .mul = 2, .sqrt = 1, .log = 1, .trig = 1});
}

// 1 with the probability that the input gives.
OpCost CostBernoulli(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.OutputShape(0).Elements();
  cost.work.Add(OpClass::kCompare, ctx.InputType(0), elements);
  cost.work.Add(OpClass::kInteger, DType::kUint32, elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

// [batch, classes] of log probabilities -> [batch, sample_size].
void InferMultinomial(OpContext& ctx) {
  const DType type = TypeOrFallback(ctx, DType::kInt32);
  ctx.SetOutputType(0, type);
  RequireRank(ctx, 0, 2);
  ctx.SetOutput(0, type, Shape{ctx.InputDim(0, 0), ctx.Int("sample_size", 1)});
}

// Per row: exp of each class, their running sum, and a search through it for every sample.
OpCost CostMultinomial(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(0).Elements();
  const Count samples = ctx.OutputShape(0).Elements();
  const DType type = ctx.InputType(0);
  AddPerElement(cost.work, {.add = 1, .exp = 1}, type, elements);
  cost.work.Add(OpClass::kCompare, type, samples * ctx.InputDim(0, 1));
  cost.work.Add(OpClass::kInteger, DType::kUint32, samples);
  return cost;
}

constexpr OpCase Shaped(std::int64_t flops) {
  return {.what = "a shape as an attribute",
          .attributes = "shape=[2,3]",
          .outputs = "f32[2,3]",
          .flops = flops,
          .bytes_written = 24};
}
constexpr OpCase Like(std::int64_t flops) {
  return {.what = "the shape of the input, which is not read",
          .attributes = "dtype=10",
          .inputs = "f32[2,3]",
          .outputs = "f16[2,3]",
          .flops = flops,
          .bytes_written = 12};
}
constexpr OpCase kUniformCases[] = {Shaped(12)};
constexpr OpCase kUniformLikeCases[] = {Like(12)};
constexpr OpCase kNormalCases[] = {Shaped(24)};
constexpr OpCase kNormalLikeCases[] = {Like(24)};
constexpr OpCase kBernoulliCases[] = {{.what = "6 elements",
                                       .attributes = "dtype=9",
                                       .inputs = "f32[2,3]",
                                       .outputs = "bool[2,3]",
                                       .flops = 6,
                                       .bytes_read = 24,
                                       .bytes_written = 6}};
constexpr OpCase kMultinomialCases[] = {{.what = "10 samples of 5 classes: 5 add, 50 compares",
                                         .attributes = "sample_size=10",
                                         .inputs = "f32[1,5]",
                                         .outputs = "i32[1,10]",
                                         .flops = 55,
                                         .bytes_read = 20,
                                         .bytes_written = 40}};

constexpr std::string_view kUniformFormula = "1 draw (class integer), 1 mul, 1 add per element";
constexpr std::string_view kNormalFormula =
    "1 draw (class integer), 1 log, 1 sqrt, 1 trig, 2 mul, 1 add per element (Box-Muller)";

constexpr OpDef kRandomOps[] = {
    {.name = "RandomUniform",
     .since = {1, 22},
     .formula = kUniformFormula,
     .infer = InferRandom,
     .cost = CostUniform,
     .role = FusionRole::kElementwise,
     .cases = kUniformCases,
     .random = true},
    {.name = "RandomUniformLike",
     .since = {1, 22},
     .formula = kUniformFormula,
     .infer = InferRandomLike,
     .cost = CostUniform,
     .role = FusionRole::kElementwise,
     .cases = kUniformLikeCases,
     .random = true},
    {.name = "RandomNormal",
     .since = {1, 22},
     .formula = kNormalFormula,
     .infer = InferRandom,
     .cost = CostNormal,
     .role = FusionRole::kElementwise,
     .cases = kNormalCases,
     .random = true},
    {.name = "RandomNormalLike",
     .since = {1, 22},
     .formula = kNormalFormula,
     .infer = InferRandomLike,
     .cost = CostNormal,
     .role = FusionRole::kElementwise,
     .cases = kNormalLikeCases,
     .random = true},
    {.name = "Bernoulli",
     .since = {15, 22},
     .formula = "1 draw (class integer), 1 compare per element",
     .infer = InferRandomLike,
     .cost = CostBernoulli,
     .role = FusionRole::kElementwise,
     .cases = kBernoulliCases,
     .random = true},
    {.name = "Multinomial",
     .since = {7, 22},
     .formula = "per class 1 exp, 1 add; per sample 1 draw (class integer), classes compares",
     .infer = InferMultinomial,
     .cost = CostMultinomial,
     .cases = kMultinomialCases,
     .random = true},
};

}  // namespace

std::span<const OpDef> RandomOps() { return kRandomOps; }

}  // namespace dlcost
