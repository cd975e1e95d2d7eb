#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/contrib.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"
#include "models/operators/product.h"

namespace dlcost {
namespace {

// ONNX Runtime's quantized matrix products. Counting: MACs in the type of A; a zero point is 1
// integer subtraction per element of its operand; a result in floats is 1 conversion and 1
// multiplication per output, a bias 1 addition; a quantized result is requantized (1
// multiplication, 1 conversion, 1 integer addition). DynamicQuantizeMatMul quantizes A first: 2
// comparisons, 1 division, 1 conversion, 1 integer addition per element.

void AddRescale(Work& work, Count outputs) {
  work.Add(OpClass::kConvert, DType::kFloat32, outputs);
  work.Add(OpClass::kMul, DType::kFloat32, outputs);
}

void InferFloatResult(OpContext& ctx, DType type) {
  ctx.SetOutputType(0, type);
  ctx.SetOutput(0, type, MatrixProduct(ctx.InputShape(0), ctx.InputShape(1)).out);
}

// Inputs: A, B, a_scale, b_scale, a_zero_point, b_zero_point, bias.
void InferIntegerToFloat(OpContext& ctx) { InferFloatResult(ctx, ctx.InputType(2)); }

OpCost CostIntegerToFloat(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  AddProduct(cost, ctx, MatrixProduct(ctx.InputShape(0), ctx.InputShape(1)), 0, 1);
  AddZeroPoint(cost.work, ctx, 0, 4);
  AddZeroPoint(cost.work, ctx, 1, 5);
  const Count outputs = ctx.OutputShape(0).Elements();
  AddRescale(cost.work, outputs);
  if (ctx.HasInput(6)) cost.work.Add(OpClass::kAdd, ctx.OutputType(0), outputs);
  return cost;
}

// Inputs: A, B, b_scale, b_zero_point, bias.
void InferDynamic(OpContext& ctx) { InferFloatResult(ctx, ctx.InputType(0)); }

OpCost CostDynamic(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const DType type = ctx.InputType(0);
  const Count elements = ctx.InputShape(0).Elements();
  cost.work.Add(OpClass::kCompare, type, elements * 2);
  cost.work.Add(OpClass::kDiv, type, elements);
  cost.work.Add(OpClass::kConvert, type, elements);
  cost.work.Add(OpClass::kInteger, DType::kInt32, elements);
  AddProduct(cost, ctx, MatrixProduct(ctx.InputShape(0), ctx.InputShape(1)), 0, 1, DType::kUint8);
  AddZeroPoint(cost.work, ctx, 1, 3);
  const Count outputs = ctx.OutputShape(0).Elements();
  AddRescale(cost.work, outputs);
  if (ctx.HasInput(4)) cost.work.Add(OpClass::kAdd, type, outputs);
  return cost;
}

void InferInteger16(OpContext& ctx) { InferFloatResult(ctx, DType::kInt32); }

OpCost CostInteger16(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  AddProduct(cost, ctx, MatrixProduct(ctx.InputShape(0), ctx.InputShape(1)), 0, 1);
  return cost;
}

// Inputs: A, a_scale, a_zero_point, B, b_scale, b_zero_point, C, y_scale, y_zero_point.
void InferQGemm(OpContext& ctx) {
  const DType type = ctx.HasInput(8) ? ctx.InputType(8) : DType::kFloat32;
  ctx.SetOutputType(0, type);
  ctx.SetOutput(0, type, GemmProduct(ctx, 0, 3).out);
}

OpCost CostQGemm(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  AddProduct(cost, ctx, GemmProduct(ctx, 0, 3), 0, 3);
  AddZeroPoint(cost.work, ctx, 0, 2);
  AddZeroPoint(cost.work, ctx, 3, 5);
  const Count outputs = ctx.OutputShape(0).Elements();
  if (ctx.HasInput(6)) cost.work.Add(OpClass::kInteger, DType::kInt32, outputs);
  if (ctx.HasInput(8)) {
    AddRequantize(cost.work, outputs);
  } else {
    AddRescale(cost.work, outputs);
  }
  return cost;
}

// Inputs: A [rows...], scale_A, B, scale_B, scale_Y, bias, C, scale_C. The order of B's axes is
// that of attribute order_B: 0 (column) stores it transposed.
void InferOrdered(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), MatrixProduct(ctx.InputShape(0), ctx.InputShape(2)).out);
}

OpCost CostOrdered(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  AddProduct(cost, ctx, MatrixProduct(ctx.InputShape(0), ctx.InputShape(2)), 0, 2);
  const Count outputs = ctx.OutputShape(0).Elements();
  for (const int addend : {5, 6}) {
    if (ctx.HasInput(addend)) cost.work.Add(OpClass::kAdd, DType::kFloat32, outputs);
  }
  AddRequantize(cost.work, outputs);
  return cost;
}

constexpr OpCase kIntegerToFloatCases[] = {
    {.what = "scaled result with bias",
     .inputs = "u8[2,4] w:i8[4,3] f32[] f32[3] u8[] i8[3] f32[3]",
     .outputs = "f32[2,3]",
     .macs = 24,
     .flops = 48 + 6 + 6,
     .bytes_read = 8 + 12 + 4 + 12 + 1 + 3 + 12,
     .bytes_written = 24},
};

constexpr OpCase kDynamicCases[] = {
    {.what = "8 elements quantized: 16 comparisons, 8 divisions",
     .inputs = "f32[2,4] w:i8[4,3] f32[] i8[]",
     .outputs = "f32[2,3]",
     .macs = 24,
     .flops = 16 + 8 + 48 + 6,
     .bytes_read = 32 + 12 + 4 + 1,
     .bytes_written = 24},
};

constexpr OpCase kInteger16Cases[] = {
    {.what = "16 bits",
     .inputs = "i16[2,4] i16[4,3]",
     .outputs = "i32[2,3]",
     .macs = 24,
     .flops = 48,
     .bytes_read = 40,
     .bytes_written = 24},
};

constexpr OpCase kQGemmCases[] = {
    {.what = "requantized, with an integer C",
     .attributes = "transB=1",
     .inputs = "u8[2,4] f32[] u8[] w:i8[3,4] f32[] i8[] w:i32[3] f32[] u8[]",
     .outputs = "u8[2,3]",
     .macs = 24,
     .flops = 48 + 6,
     .bytes_read = 8 + 12 + 12 + 12 + 3,
     .bytes_written = 6},
    {.what = "to floats",
     .inputs = "u8[2,4] f32[] u8[] w:i8[4,3] f32[] i8[]",
     .outputs = "f32[2,3]",
     .macs = 24,
     .flops = 48 + 6,
     .bytes_read = 8 + 12 + 8 + 2,
     .bytes_written = 24},
};

constexpr OpCase kOrderedCases[] = {
    {.what = "with bias",
     .attributes = "order_A=1 order_B=1 order_Y=1",
     .inputs = "i8[1,2,4] f32[] w:i8[4,3] f32[] f32[] f32[3]",
     .outputs = "i8[1,2,3]",
     .macs = 24,
     .flops = 48 + 6 + 6,
     .bytes_read = 8 + 12 + 12 + 12,
     .bytes_written = 6},
};

constexpr ContribOps kMakeQuantizedMatMul{FusionRole::kAnchor};

constexpr OpDef kContribQuantizedMatMulOps[] = {
    kMakeQuantizedMatMul("MatMulIntegerToFloat",
                         "MACs = batch * M * N * K; 1 convert, 1 mul per output",
                         InferIntegerToFloat, CostIntegerToFloat, kIntegerToFloatCases),
    kMakeQuantizedMatMul("DynamicQuantizeMatMul",
                         "MACs = batch * M * N * K in u8; A quantized, outputs rescaled",
                         InferDynamic, CostDynamic, kDynamicCases),
    kMakeQuantizedMatMul("MatMulInteger16", "MACs = batch * M * N * K", InferInteger16,
                         CostInteger16, kInteger16Cases),
    kMakeQuantizedMatMul("QGemm", "MACs = M * N * K; 1 mul, 1 convert per output", InferQGemm,
                         CostQGemm, kQGemmCases),
    kMakeQuantizedMatMul("QOrderedMatMul", "MACs = batch * M * N * K; 1 mul, 1 convert per output",
                         InferOrdered, CostOrdered, kOrderedCases),
};

}  // namespace

std::span<const OpDef> ContribQuantizedMatMulOps() { return kContribQuantizedMatMulOps; }

}  // namespace dlcost
