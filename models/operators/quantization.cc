#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Counting per element. QuantizeLinear: 1 division by the scale, 1 conversion (round and saturate),
// 1 integer addition where there is a zero point. DequantizeLinear: 1 integer subtraction where
// there is a zero point, 1 conversion, 1 multiplication. DynamicQuantizeLinear: besides, 2
// comparisons for the largest and the smallest element, and 2 divisions, 2 additions, 2 comparisons
// and 1 conversion once for scale and zero point. Scales are read at their stored granularity.

DType TypeAttribute(const OpContext& ctx, std::string_view name) {
  const std::int64_t number = ctx.Int(name, 0);
  if (number < 0 || number >= kDTypeCount) throw Error("attribute '{}' is {}", name, number);
  return DTypeFromOnnx(static_cast<int>(number));
}

// A scale is one number, one per index of `axis`, or one per block along it.
void CheckScale(const OpContext& ctx) {
  if (!ctx.InputShapeKnown(0) || !ctx.InputShapeKnown(1)) return;
  const Shape& x = ctx.InputShape(0);
  const Shape& scale = ctx.InputShape(1);
  if (ctx.InputShapeKnown(2) && ctx.InputShape(2).Elements() != scale.Elements()) {
    throw Error("the scale {} and the zero point {} differ in shape", ToString(scale),
                ToString(ctx.InputShape(2)));
  }
  if (scale.Elements() == Count(1) || x.rank() < 2) return;
  const std::size_t axis = NormalizeAxis(ctx.Int("axis", 1), x.rank());
  if (scale.rank() == 1) {
    if (scale[0] != x[axis]) {
      throw Error("the scale {} has one number for each of {} indices of axis {}", ToString(scale),
                  x[axis], axis);
    }
    return;
  }
  bool fits = scale.rank() == x.rank();
  for (std::size_t i = 0; fits && i < x.rank(); ++i) {
    fits = i == axis ? scale[i] <= x[i] : scale[i] == x[i];
  }
  if (!fits) {
    throw Error("the scale {} is not made of blocks of {} along axis {}", ToString(scale),
                ToString(x), axis);
  }
}

void InferQuantizeLinear(OpContext& ctx) {
  DType type = TypeAttribute(ctx, "output_dtype");
  if (type == DType::kUndefined) type = ctx.HasInput(2) ? ctx.InputType(2) : DType::kUint8;
  ctx.SetOutputType(0, type);
  CheckScale(ctx);
  ctx.SetOutput(0, type, ctx.InputShape(0));
}

OpCost CostQuantizeLinear(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(0).Elements();
  DType precision = TypeAttribute(ctx, "precision");
  if (precision == DType::kUndefined) precision = ctx.InputType(1);
  cost.work.Add(OpClass::kDiv, precision, elements);
  cost.work.Add(OpClass::kConvert, precision, elements);
  AddZeroPoint(cost.work, ctx, 0, 2);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

void InferDequantizeLinear(OpContext& ctx) {
  DType type = TypeAttribute(ctx, "output_dtype");
  if (type == DType::kUndefined) type = ctx.InputType(1);
  ctx.SetOutputType(0, type);
  CheckScale(ctx);
  ctx.SetOutput(0, type, ctx.InputShape(0));
}

OpCost CostDequantizeLinear(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(0).Elements();
  AddZeroPoint(cost.work, ctx, 0, 2);
  cost.work.Add(OpClass::kConvert, ctx.OutputType(0), elements);
  cost.work.Add(OpClass::kMul, ctx.OutputType(0), elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

void InferDynamicQuantizeLinear(OpContext& ctx) {
  ctx.SetOutput(1, DType::kFloat32, {});
  ctx.SetOutput(2, DType::kUint8, {});
  ctx.SetOutputType(0, DType::kUint8);
  ctx.SetOutput(0, DType::kUint8, ctx.InputShape(0));
}

OpCost CostDynamicQuantizeLinear(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const DType type = ctx.InputType(0);
  const Count elements = ctx.InputShape(0).Elements();
  cost.work.Add(OpClass::kCompare, type, Folds(elements, 1) * 2 + Count(2));
  cost.work.Add(OpClass::kDiv, type, elements + Count(2));
  cost.work.Add(OpClass::kAdd, type, 2);
  cost.work.Add(OpClass::kConvert, type, elements + Count(1));
  cost.work.Add(OpClass::kInteger, DType::kInt32, elements);
  cost.nest = ReduceNest{.outer = 1, .reduce = elements};
  return cost;
}

constexpr OpCase kQuantizeLinearCases[] = {
    {.what = "per tensor, to u8",
     .inputs = "f32[2,3] f32[] u8[]",
     .outputs = "u8[2,3]",
     .flops = 6,
     .bytes_read = 24 + 4 + 1,
     .bytes_written = 6},
    {.what = "blocks of 2 along axis 1, to packed i4, without zero point",
     .attributes = "block_size=2 output_dtype=22",
     .inputs = "f16[2,4] f16[2,2]",
     .outputs = "i4[2,4]",
     .flops = 8,
     .bytes_read = 16 + 8,
     .bytes_written = 4},
};

constexpr OpCase kDequantizeLinearCases[] = {
    {.what = "per channel",
     .attributes = "axis=0",
     .inputs = "w:i8[8,3,3,3] f32[8] i8[8]",
     .outputs = "f32[8,3,3,3]",
     .flops = 216,
     .bytes_read = 216 + 32 + 8,
     .bytes_written = 864},
    {.what = "packed i4 in blocks of 16, f16 scales",
     .attributes = "block_size=16",
     .inputs = "w:i4[8,32] f16[8,2]",
     .outputs = "f16[8,32]",
     .flops = 256,
     .bytes_read = 128 + 32,
     .bytes_written = 512},
};

// 2 * 5 + 2 comparisons, 6 + 2 divisions, 2 additions.
constexpr OpCase kDynamicQuantizeLinearCases[] = {
    {.what = "6 elements",
     .inputs = "f32[2,3]",
     .outputs = "u8[2,3] f32[] u8[]",
     .flops = 12 + 8 + 2,
     .bytes_read = 24,
     .bytes_written = 6 + 4 + 1},
};

// Quantized data and its zero point, of whatever width.
constexpr IntegerInputs kQuantizedOperands{.computed = InputSet({0, 2})};

constexpr OpDef kQuantizationOps[] = {
    {.name = "QuantizeLinear",
     .since = {10, 13, 19, 21, 23, 24, 25, 28},
     .formula = "1 div, 1 convert per element; 1 integer for a zero point",
     .infer = InferQuantizeLinear,
     .cost = CostQuantizeLinear,
     .role = FusionRole::kElementwise,
     .cases = kQuantizeLinearCases},
    {.name = "DequantizeLinear",
     .since = {10, 13, 19, 21, 23, 24, 25, 28},
     .formula = "1 convert, 1 mul per element; 1 integer for a zero point",
     .infer = InferDequantizeLinear,
     .cost = CostDequantizeLinear,
     .role = FusionRole::kElementwise,
     .cases = kDequantizeLinearCases,
     .integers = kQuantizedOperands},
    {.name = "DynamicQuantizeLinear",
     .since = {11},
     .formula = "2 compares, 1 div, 1 convert, 1 integer per element",
     .infer = InferDynamicQuantizeLinear,
     .cost = CostDynamicQuantizeLinear,
     .role = FusionRole::kReduction,
     .cases = kDynamicQuantizeLinearCases},
    {.name = "QuantizeLinear",
     .domain = "com.microsoft",
     .since = {1},
     .formula = "1 div, 1 convert per element; 1 integer for a zero point",
     .infer = InferQuantizeLinear,
     .cost = CostQuantizeLinear,
     .role = FusionRole::kElementwise,
     .cases = kQuantizeLinearCases},
    {.name = "DequantizeLinear",
     .domain = "com.microsoft",
     .since = {1},
     .formula = "1 convert, 1 mul per element; 1 integer for a zero point",
     .infer = InferDequantizeLinear,
     .cost = CostDequantizeLinear,
     .role = FusionRole::kElementwise,
     .cases = kDequantizeLinearCases,
     .integers = kQuantizedOperands},
};

}  // namespace

std::span<const OpDef> QuantizationOps() { return kQuantizationOps; }

}  // namespace dlcost
