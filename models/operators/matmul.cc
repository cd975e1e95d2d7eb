#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"
#include "models/operators/product.h"

namespace dlcost {
namespace {

// Counting. MatMul: one MAC per output and element of the contracted axis. Gemm: besides, one
// multiplication per output when alpha is not 1, one per element of C when beta is not 1, one
// addition per output when there is a C. Integer products are MACs of the type of A; a zero point
// is one integer subtraction per element of its operand; requantizing is one multiplication, one
// conversion and one integer addition per output.

void InferMatMul(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), MatrixProduct(ctx.InputShape(0), ctx.InputShape(1)).out);
}

OpCost CostMatMul(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  AddProduct(cost, ctx, MatrixProduct(ctx.InputShape(0), ctx.InputShape(1)), 0, 1);
  return cost;
}

void InferGemm(OpContext& ctx) { InferGemmAs(ctx, ctx.InputType(0)); }

OpCost CostGemm(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  AddGemm(cost, ctx);
  return cost;
}

void InferMatMulInteger(OpContext& ctx) {
  ctx.SetOutputType(0, DType::kInt32);
  ctx.SetOutput(0, DType::kInt32, MatrixProduct(ctx.InputShape(0), ctx.InputShape(1)).out);
}

OpCost CostMatMulInteger(const OpContext& ctx) {
  OpCost cost = CostMatMul(ctx);
  AddZeroPoint(cost.work, ctx, 0, 2);
  AddZeroPoint(cost.work, ctx, 1, 3);
  return cost;
}

// Inputs: a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point.
void InferQLinearMatMul(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(7));
  ctx.SetOutput(0, ctx.InputType(7), MatrixProduct(ctx.InputShape(0), ctx.InputShape(3)).out);
}

OpCost CostQLinearMatMul(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  AddProduct(cost, ctx, MatrixProduct(ctx.InputShape(0), ctx.InputShape(3)), 0, 3);
  AddZeroPoint(cost.work, ctx, 0, 2);
  AddZeroPoint(cost.work, ctx, 3, 5);
  AddRequantize(cost.work, ctx.OutputShape(0).Elements());
  return cost;
}

// 2 * 12 * 128 * 64 * 128 = 25,165,824; both operands and the result once each.
constexpr OpCase kMatMulCases[] = {
    {.what = "attention scores, 12 heads",
     .inputs = "f16[2,12,128,64] f16[2,12,64,128]",
     .outputs = "f16[2,12,128,128]",
     .macs = 25165824,
     .flops = 50331648,
     .bytes_read = 2 * 2 * 196608,
     .bytes_written = 2 * 393216},
    {.what = "a weight shared by the batch",
     .inputs = "f32[8,128,768] w:f32[768,3072]",
     .outputs = "f32[8,128,3072]",
     .macs = 2415919104,
     .flops = 4831838208,
     .bytes_read = 4 * (786432 + 2359296),
     .bytes_written = 4 * 3145728},
    {.what = "a vector and a batch of matrices",
     .inputs = "f32[4] f32[3,4,5]",
     .outputs = "f32[3,5]",
     .macs = 60,
     .flops = 120,
     .bytes_read = 16 + 240,
     .bytes_written = 60},
    {.what = "two vectors",
     .inputs = "f32[7] f32[7]",
     .outputs = "f32[]",
     .macs = 7,
     .flops = 14,
     .bytes_read = 56,
     .bytes_written = 4},
    {.what = "batches that broadcast against each other",
     .inputs = "f32[5,1,2,3] f32[4,3,6]",
     .outputs = "f32[5,4,2,6]",
     .macs = 5 * 4 * 2 * 6 * 3,
     .flops = 2 * 720,
     .bytes_read = 4 * (30 + 72),
     .bytes_written = 4 * 240},
};

constexpr OpCase kGemmCases[] = {
    {.what = "AlexNet fc6 with bias",
     .attributes = "transB=1",
     .inputs = "f32[1,9216] w:f32[4096,9216] w:f32[4096]",
     .outputs = "f32[1,4096]",
     .macs = 37748736,
     .flops = 75497472 + 4096,
     .bytes_read = 4 * (9216 + 37748736 + 4096),
     .bytes_written = 16384},
    {.what = "A transposed, without C, scaled",
     .attributes = "transA=1 alpha=0.5",
     .inputs = "f32[4,3] f32[4,5]",
     .outputs = "f32[3,5]",
     .macs = 60,
     .flops = 120 + 15,
     .bytes_read = 4 * 32,
     .bytes_written = 60},
    {.what = "opset 6, C broadcast and scaled: 4 products, 12 sums",
     .attributes = "broadcast=1 beta=2.0",
     .inputs = "f32[3,5] f32[5,4] f32[4]",
     .outputs = "f32[3,4]",
     .macs = 60,
     .flops = 120 + 4 + 12,
     .bytes_read = 4 * (15 + 20 + 4),
     .bytes_written = 48,
     .opset = 6},
};

constexpr OpCase kMatMulIntegerCases[] = {
    {.what = "zero points on both sides",
     .inputs = "u8[4,16] w:i8[16,8] u8[] i8[8]",
     .outputs = "i32[4,8]",
     .macs = 512,
     .flops = 1024,
     .bytes_read = 64 + 128 + 1 + 8,
     .bytes_written = 128},
};

// The scale is one multiplication per output; rounding and the zero point are not FLOPs.
constexpr OpCase kQLinearMatMulCases[] = {
    {.what = "per-tensor scales",
     .inputs = "u8[2,4] f32[] u8[] w:u8[4,3] f32[] u8[] f32[] u8[]",
     .outputs = "u8[2,3]",
     .macs = 24,
     .flops = 48 + 6,
     .bytes_read = 8 + 12 + 3 * 4 + 3,
     .bytes_written = 6},
};

constexpr OpDef kMatMulOps[] = {
    {.name = "MatMul",
     .since = {1, 9, 13},
     .formula = "MACs = batch * M * N * K",
     .infer = InferMatMul,
     .cost = CostMatMul,
     .role = FusionRole::kAnchor,
     .cases = kMatMulCases},
    {.name = "Gemm",
     .since = {1, 6, 7, 9, 11, 13},
     .formula = "MACs = M * N * K; C adds M * N",
     .infer = InferGemm,
     .cost = CostGemm,
     .role = FusionRole::kAnchor,
     .cases = kGemmCases},
    {.name = "MatMulInteger",
     .since = {10},
     .formula = "MACs = batch * M * N * K in the type of A",
     .infer = InferMatMulInteger,
     .cost = CostMatMulInteger,
     .role = FusionRole::kAnchor,
     .cases = kMatMulIntegerCases},
    {.name = "QLinearMatMul",
     .since = {10, 21},
     .formula = "MACs = batch * M * N * K in the type of a; 1 mul, 1 convert per output",
     .infer = InferQLinearMatMul,
     .cost = CostQLinearMatMul,
     .role = FusionRole::kAnchor,
     .cases = kQLinearMatMulCases},
};

}  // namespace

std::span<const OpDef> MatMulOps() { return kMatMulOps; }

}  // namespace dlcost
