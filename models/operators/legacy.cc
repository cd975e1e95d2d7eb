#include "estimator/core/error.h"
#include "models/operators/counting.h"
#include "models/operators/elementwise.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Experimental operators of the first opsets, which old converters still leave in files. Removed
// with opset 10.

constexpr UnaryOp kLegacyTable[] = {
    {.name = "Affine",
     .since = {1},
     .formula = "alpha * x + beta: 1 mul, 1 add per element",
     .operations = {.add = 1, .mul = 1},
     .example = SixFloats(12),
     .removed_in = 10},
    {.name = "ImageScaler",
     .since = {1},
     .formula = "scale * x + bias[channel]: 1 mul, 1 add per element",
     .operations = {.add = 1, .mul = 1},
     .example = SixFloats(12),
     .removed_in = 10},
    {.name = "Scale",
     .since = {1},
     .formula = "scale * x: 1 mul per element",
     .operations = {.mul = 1},
     .example = SixFloats(6),
     .removed_in = 10},
    {.name = "ScaledTanh",
     .since = {1},
     .formula = "alpha * tanh(beta * x): 2 mul, 1 tanh per element",
     .operations = {.mul = 2, .trig = 1},
     .example = SixFloats(12),
     .removed_in = 10},
    {.name = "ParametricSoftplus",
     .since = {1},
     .formula = "alpha * log(exp(beta * x) + 1): 2 mul, 1 exp, 1 add, 1 log per element",
     .operations = {.add = 1, .mul = 2, .exp = 1, .log = 1},
     .example = SixFloats(18),
     .removed_in = 10},
};

constexpr auto kLegacyTableOps = MakeUnaryOps<kLegacyTable>();

// border = [left, top, right, bottom]; with `scale` = [height, width] only the top left corner
// counts.
void InferCrop(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  RequireRank(ctx, 0, 4);
  const std::vector<std::int64_t> border = ctx.RequiredInts("border");
  const std::vector<std::int64_t> scale = ctx.Ints("scale");
  if (border.size() != 4) throw Error("border has {} numbers where 4 are required", border.size());
  Shape y = ctx.InputShape(0);
  if (scale.size() == 2) {
    y[2] = scale[0];
    y[3] = scale[1];
  } else {
    y[2] = (Count(y[2]) - border[1] - border[3]).value();
    y[3] = (Count(y[3]) - border[0] - border[2]).value();
  }
  ctx.SetOutput(0, ctx.InputType(0), std::move(y));
}

OpCost CostCrop(const OpContext& ctx) {
  OpCost cost;
  AddPartialRead(cost, ctx, 0, ctx.OutputShape(0).Elements(), AccessKind::kStrided);
  AddWrite(cost, ctx, 0);
  return cost;
}

// The shape is an attribute, the content of input 0 (input_as_shape) or the shape of input 0;
// extra_shape comes behind.
void InferFill(OpContext& ctx) {
  const std::int64_t number = ctx.Int("dtype", 1);
  const DType type =
      ctx.op() == "GivenTensorFill" ? DType::kFloat32 : DTypeFromOnnx(static_cast<int>(number));
  ctx.SetOutputType(0, type);
  std::vector<std::int64_t> dims = ctx.Ints("shape");
  if (ctx.HasInput(0)) {
    dims = ctx.Int("input_as_shape", 0) != 0 ? ctx.InputInts(0) : ctx.InputShape(0).dims();
  }
  for (const std::int64_t dim : ctx.Ints("extra_shape")) dims.push_back(dim);
  ctx.SetOutput(0, type, Shape(std::move(dims)));
}

OpCost CostLegacyFill(const OpContext& ctx) {
  OpCost cost;
  AddWrite(cost, ctx, 0);
  return cost;
}

// Inputs: hidden [..., d], gates [..., 3 d] before their activation, sequence lengths, step. New
// hidden: u * h + (1 - u) * tanh(o), u a sigmoid; the reset gate was applied to what came before.
OpCost CostGruUnit(const OpContext& ctx) {
  OpCost cost;
  const DType type = ctx.InputType(0);
  const Count units = ctx.OutputShape(0).Elements();
  AddRead(cost, ctx, 0);
  AddPartialRead(cost, ctx, 1, units * 2, AccessKind::kStrided);
  AddRead(cost, ctx, 2);
  AddRead(cost, ctx, 3);
  AddWrite(cost, ctx, 0);
  AddActivation(cost.work, type, "sigmoid", units);
  AddActivation(cost.work, type, "tanh", units);
  cost.work.Add(OpClass::kMul, type, units * 2);
  cost.work.Add(OpClass::kAdd, type, units * 2);
  cost.nest = ElementwiseNest{units};
  return cost;
}

constexpr OpCase kGruUnitCases[] = {{.what = "8 units: a sigmoid of 2 FLOPs, 2 mul, 2 add each",
                                     .inputs = "f32[1,2,4] f32[1,2,12] i32[2] i32[]",
                                     .outputs = "f32[1,2,4]",
                                     .flops = 48,
                                     .bytes_read = 32 + 64 + 8 + 4,
                                     .bytes_written = 32}};
constexpr OpCase kCropCases[] = {{.what = "a border of 1 and 2",
                                  .attributes = "border=[1,2,1,2]",
                                  .inputs = "f32[1,3,8,8]",
                                  .outputs = "f32[1,3,4,6]",
                                  .bytes_read = 288,
                                  .bytes_written = 288}};
constexpr OpCase kFillCases[] = {{.what = "a shape as an attribute",
                                  .attributes = "shape=[2,3]",
                                  .inputs = "",
                                  .outputs = "f32[2,3]",
                                  .bytes_written = 24}};

constexpr OpDef kLegacyOps[] = {
    {.name = "GRUUnit",
     .since = {1},
     .formula = "1 sigmoid, 1 tanh, 2 mul, 2 add per unit",
     .infer = InferSameAsInput,
     .cost = CostGruUnit,
     .role = FusionRole::kElementwise,
     .cases = kGruUnitCases,
     .removed_in = 10},
    {.name = "Crop",
     .since = {1},
     .formula = "no arithmetic; reads the elements that it takes",
     .infer = InferCrop,
     .cost = CostCrop,
     .role = FusionRole::kMovement,
     .cases = kCropCases,
     .removed_in = 10},
    {.name = "ConstantFill",
     .since = {1},
     .formula = "no arithmetic; writes its output",
     .infer = InferFill,
     .cost = CostLegacyFill,
     .cases = kFillCases,
     .removed_in = 10},
    {.name = "GivenTensorFill",
     .since = {1},
     .formula = "no arithmetic; writes its output",
     .infer = InferFill,
     .cost = CostLegacyFill,
     .cases = kFillCases,
     .removed_in = 10},
};

}  // namespace

std::span<const OpDef> LegacyTableOps() { return kLegacyTableOps; }
std::span<const OpDef> LegacyOps() { return kLegacyOps; }

}  // namespace dlcost
