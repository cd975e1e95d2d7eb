#include <algorithm>
#include <array>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Numbers of ONNX Runtime that are stored in blocks, without a product. Block floating point:
// numbers of a box share an exponent. Counting: quantizing compares each number for the largest
// exponent of its box, scales and converts it; dequantizing, also of the rows that are taken from a
// table, converts and scales.

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

std::optional<Count> PackedBoxes(const OpContext& ctx, int input) {
  if (input != 0 || ctx.InputValue(1) == nullptr) return std::nullopt;
  return Shape(ctx.InputInts(1)).Elements();
}

OpCost CostDequantize(const OpContext& ctx) {
  OpCost cost = StreamFirst(ctx, 1);
  const Count elements = ctx.OutputShape(0).Elements();
  cost.work.Add(OpClass::kConvert, ctx.OutputType(0), elements);
  cost.work.Add(OpClass::kMul, ctx.OutputType(0), elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

// Numbers of u8 data that hold several each.
std::int64_t Packed(const OpContext& ctx) {
  if (ctx.InputType(0) != DType::kUint8) return 1;
  const std::int64_t bits = ctx.Int("bits", 4);
  if (bits != 2 && bits != 4 && bits != 8) throw Error("bits is {}, not 2, 4 or 8", bits);
  return 8 / bits;
}

std::size_t GatherAxis(const OpContext& ctx) {
  return NormalizeAxis(ctx.Int("gather_axis", 0), ctx.InputShape(0).rank());
}

// Inputs: data, indices, scales, zero_points. Like Gather, and dequantized to the scales' type.
void InferGatherBlocks(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(2));
  const Shape& data = ctx.InputShape(0);
  const Shape& indices = ctx.InputShape(1);
  const std::size_t axis = GatherAxis(ctx);
  std::vector<std::int64_t> dims = data.dims();
  dims.back() = (Count(dims.back()) * Packed(ctx)).value();
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), indices.begin(), indices.end());
  ctx.SetOutput(0, ctx.InputType(2), Shape(std::move(dims)));
}

std::optional<Count> PackedTable(const OpContext& ctx, int input) {
  if (input != 0 && input != 3) return std::nullopt;
  if (ctx.InputType(input) != DType::kUint8) return std::nullopt;
  return ctx.InputShape(input).Elements() * Packed(ctx);
}

OpCost CostGatherBlocks(const OpContext& ctx) {
  OpCost cost;
  const Shape& data = ctx.InputShape(0);
  const std::size_t axis = GatherAxis(ctx);
  const Count rows = std::min(ctx.InputShape(1).Elements(), Count(data[axis]));
  for (int i = 0; i < ctx.NumInputs(); ++i) {
    if (!ctx.HasInput(i)) continue;
    if (i == 1) {
      AddRead(cost, ctx, i);
      continue;
    }
    // The taken rows of data, scales and zero points.
    const Shape& shape = ctx.InputShape(i);
    const Count row = shape.At(static_cast<std::int64_t>(axis)) > 0
                          ? shape.Elements() / Count(shape[axis])
                          : Count(0);
    AddPartialRead(cost, ctx, i, std::min(rows, Count(shape[axis])) * row, AccessKind::kGather);
  }
  AddWrite(cost, ctx, 0);
  const DType type = ctx.InputType(2);
  const Count outputs = ctx.OutputShape(0).Elements();
  cost.work.Add(OpClass::kConvert, type, outputs);
  if (ctx.HasInput(3)) cost.work.Add(OpClass::kInteger, DType::kInt32, outputs);
  cost.work.Add(OpClass::kMul, type, outputs);
  cost.nest = ElementwiseNest{outputs};
  return cost;
}

// Rows of blocks, scales inside (ggml), of which some are taken. Inputs: data [rows, bytes],
// indices; attributes: K, the numbers of a row, and the type of the output.
void InferGatherRows(OpContext& ctx) {
  const DType type = DTypeFromOnnx(static_cast<int>(ctx.RequiredInt("dtype")));
  ctx.SetOutputType(0, type);
  std::vector<std::int64_t> dims = ctx.InputShape(1).dims();
  dims.push_back(ctx.RequiredInt("K"));
  ctx.SetOutput(0, type, Shape(std::move(dims)));
}

OpCost CostGatherRows(const OpContext& ctx) {
  OpCost cost;
  RequireRank(ctx, 0, 2);
  const Count rows = std::min(ctx.InputShape(1).Elements(), Count(ctx.InputDim(0, 0)));
  AddPartialRead(cost, ctx, 0, rows * ctx.InputDim(0, 1), AccessKind::kGather);
  AddRead(cost, ctx, 1);
  AddWrite(cost, ctx, 0);
  const Count outputs = ctx.OutputShape(0).Elements();
  cost.work.Add(OpClass::kConvert, ctx.OutputType(0), outputs);
  cost.work.Add(OpClass::kMul, ctx.OutputType(0), outputs);
  cost.nest = ElementwiseNest{outputs};
  return cost;
}

std::optional<Count> PackedRows(const OpContext& ctx, int input) {
  if (input != 0) return std::nullopt;
  return Count(ctx.InputDim(0, 0)) * ctx.RequiredInt("K");
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

constexpr OpCase kGatherBlocksCases[] = {
    {.what = "2 rows of 64 numbers of 4 bits, 2 blocks each",
     .attributes = "block_size=32 quantize_axis=1",
     .inputs = "w:u4[100,64] i64[2] w:f16[100,2]",
     .outputs = "f16[2,64]",
     .flops = 128,
     .bytes_read = 64 + 16 + 8,
     .bytes_written = 256},
    {.what = "the same, two numbers in a byte",
     .attributes = "block_size=32 quantize_axis=1 bits=4",
     .inputs = "w:u8[100,32] i64[1,2] w:f16[100,2]",
     .outputs = "f16[1,2,64]",
     .flops = 128,
     .bytes_read = 64 + 16 + 8,
     .bytes_written = 256},
};

constexpr OpCase kGatherRowsCases[] = {
    {.what = "2 rows of 64 numbers of 4 bits, a half for each 32",
     .attributes = "K=64 dtype=10",
     .inputs = "w:u8[100,36] i64[1,2]",
     .outputs = "f16[1,2,64]",
     .flops = 128,
     .bytes_read = 72 + 16,
     .bytes_written = 256},
};

constexpr OpDef kContribBlockFloatOps[] = {
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
     .cases = kDequantizeCases,
     .packed = PackedBoxes},
    {.name = "GatherBlockQuantized",
     .domain = "com.microsoft",
     .formula = "1 convert, 1 mul per output element",
     .infer = InferGatherBlocks,
     .cost = CostGatherBlocks,
     .role = FusionRole::kMovement,
     .cases = kGatherBlocksCases,
     .integers = IntegerInputs{},  // 8 bits are numbers, wider ones indices
     .packed = PackedTable},
    {.name = "GatherBlocks",
     .domain = "dlcost.training",
     .formula = "1 convert, 1 mul per output element",
     .infer = InferGatherRows,
     .cost = CostGatherRows,
     .role = FusionRole::kMovement,
     .cases = kGatherRowsCases,
     .integers = IntegerInputs{},
     .packed = PackedRows},
};

}  // namespace

std::span<const OpDef> ContribBlockFloatOps() { return kContribBlockFloatOps; }

}  // namespace dlcost
