#include <array>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Block floating point of ONNX Runtime: numbers of a box share an exponent. Counting: quantizing
// compares each number for the largest exponent of its box, scales and converts it; dequantizing
// converts and scales.

// attribute bfp_type: bits of a number (sign and mantissa), bits of a box's exponent, numbers in a
// box along block_dim.
struct BlockFormat {
  std::int64_t bits, exponent_bits, box;
};
constexpr std::array<BlockFormat, 7> kFormats = {
    {{9, 8, 16}, {5, 8, 16}, {8, 8, 64}, {8, 8, 128}, {8, 8, 256}, {4, 8, 128}, {4, 8, 256}}};

// Outputs: packed bytes, the shape and the strides of x.
void InferQuantize(OpContext& ctx) {
  ctx.SetOutputType(0, DType::kUint8);
  const Shape& x = ctx.InputShape(0);
  for (const int i : {1, 2}) ctx.SetOutput(i, DType::kInt64, Shape{x.Rank()});
  const std::int64_t kind = ctx.RequiredInt("bfp_type");
  if (kind < 0 || kind >= static_cast<std::int64_t>(kFormats.size())) {
    throw Unresolved("how many bytes a number of the custom block format takes is not known");
  }
  const BlockFormat& format = kFormats[static_cast<std::size_t>(kind)];
  const std::size_t axis = NormalizeAxis(ctx.Int("block_dim", -1), x.rank());
  const Count rows = x.Product(0, axis) * x.Product(axis + 1, x.rank());
  const Count boxes = rows * CeilDiv(x[axis], format.box);
  const Count bits = boxes * (Count(format.box) * format.bits + Count(format.exponent_bits));
  ctx.SetOutput(0, DType::kUint8, Shape{CeilDiv(bits, 8).value()});
}

void QuantizeValues(OpContext& ctx) { ctx.SetOutputValue(1, Value(ctx.InputShape(0).dims())); }

OpCost CostQuantize(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(0).Elements();
  const DType type = ctx.InputType(0);
  cost.work.Add(OpClass::kCompare, type, elements);
  cost.work.Add(OpClass::kMul, type, elements);
  cost.work.Add(OpClass::kConvert, type, elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

// Inputs: packed bytes, shape, strides.
void InferDequantize(OpContext& ctx) {
  const DType type = DTypeFromOnnx(static_cast<int>(ctx.Int("dtype", 1)));
  ctx.SetOutputType(0, type);
  ctx.SetOutput(0, type, Shape(ctx.InputInts(1)));
}

OpCost CostDequantize(const OpContext& ctx) {
  OpCost cost = StreamFirst(ctx, 1);
  const Count elements = ctx.OutputShape(0).Elements();
  cost.work.Add(OpClass::kConvert, ctx.OutputType(0), elements);
  cost.work.Add(OpClass::kMul, ctx.OutputType(0), elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

// 2 rows of 3 boxes of 16 * 9 + 8 = 152 bits.
constexpr OpCase kQuantizeCases[] = {{.what = "9-bit numbers, boxes of 16",
                                      .attributes = "bfp_type=0",
                                      .inputs = "f32[2,40]",
                                      .outputs = "u8[114] i64[2]{2,40} i64[2]",
                                      .flops = 160,
                                      .bytes_read = 320,
                                      .bytes_written = 114 + 32}};
constexpr OpCase kDequantizeCases[] = {{.what = "9-bit numbers, boxes of 16",
                                        .attributes = "bfp_type=0",
                                        .inputs = "u8[114] i64[2]{2,40} i64[2]{40,1}",
                                        .outputs = "f32[2,40]",
                                        .flops = 80,
                                        .bytes_read = 114,
                                        .bytes_written = 320}};

constexpr OpDef kOps[] = {
    {.name = "QuantizeBFP",
     .domain = "com.microsoft",
     .formula = "1 compare, 1 mul, 1 convert per element",
     .infer = InferQuantize,
     .values = QuantizeValues,
     .cost = CostQuantize,
     .cases = kQuantizeCases},
    {.name = "DequantizeBFP",
     .domain = "com.microsoft",
     .formula = "1 convert, 1 mul per element",
     .infer = InferDequantize,
     .cost = CostDequantize,
     .cases = kDequantizeCases},
};

}  // namespace

std::span<const OpDef> ContribBlockFloatOps() { return kOps; }

}  // namespace dlcost
