#include <algorithm>
#include <utility>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/contrib.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"
#include "models/operators/product.h"

namespace dlcost {
namespace {

// ONNX Runtime's fused matrix products count as MatMul and Gemm do, an alpha that is not 1 as 1
// multiplication per output, a bias as 1 addition, an activation by its name (AddActivation), a
// scale that is given as 1 multiplication per output.

// transBatch moves the first axis behind the batch axes; trans swaps the last two.
Shape Transposed(const Shape& shape, bool batch, bool last) {
  std::vector<std::int64_t> dims = shape.dims();
  if (dims.size() < 2) return shape;
  if (batch && dims.size() >= 3) {
    const std::int64_t first = dims.front();
    dims.erase(dims.begin());
    dims.insert(dims.end() - 1, first);
  }
  if (last) std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return Shape(std::move(dims));
}

Product FusedProduct(const OpContext& ctx) {
  const auto set = [&ctx](std::string_view name) { return ctx.Int(name, 0) != 0; };
  return MatrixProduct(Transposed(ctx.InputShape(0), set("transBatchA"), set("transA")),
                       Transposed(ctx.InputShape(1), set("transBatchB"), set("transB")));
}

void InferFusedMatMul(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), FusedProduct(ctx).out);
}

OpCost CostFusedMatMul(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Product product = FusedProduct(ctx);
  const Count outputs = product.out.Elements();
  AddProduct(cost, ctx, product, 0, 1);
  if (ctx.Float("alpha", 1) != 1) cost.work.Add(OpClass::kMul, ctx.InputType(0), outputs);
  AddActivation(cost.work, ctx.InputType(0), ctx.String("activation", ""), outputs);
  return cost;
}

void InferFusedGemm(OpContext& ctx) { InferGemmAs(ctx, ctx.InputType(0)); }

OpCost CostFusedGemm(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  AddGemm(cost, ctx);
  AddActivation(cost.work, ctx.InputType(0), ctx.String("activation", ""),
                ctx.OutputShape(0).Elements());
  return cost;
}

// Output type: attribute dtype, f32 by default.
void InferGemmFloat8(OpContext& ctx) {
  const std::int64_t number = ctx.Int("dtype", static_cast<std::int64_t>(DType::kFloat32));
  if (number < 0 || number >= kDTypeCount) throw Error("attribute 'dtype' is {}", number);
  InferGemmAs(ctx, DTypeFromOnnx(static_cast<int>(number)));
}

OpCost CostGemmFloat8(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  AddGemm(cost, ctx);
  const Count outputs = ctx.OutputShape(0).Elements();
  for (const int scale : {3, 4, 5}) {
    if (ctx.HasInput(scale)) cost.work.Add(OpClass::kMul, DType::kFloat32, outputs);
  }
  const std::string activation = ctx.String("activation", "NONE");
  if (activation != "NONE") AddActivation(cost.work, DType::kFloat32, activation, outputs);
  return cost;
}

void InferGemmFastGelu(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), MatrixProduct(ctx.InputShape(0), ctx.InputShape(1)).out);
}

OpCost CostGemmFastGelu(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  AddProduct(cost, ctx, MatrixProduct(ctx.InputShape(0), ctx.InputShape(1)), 0, 1);
  const Count outputs = ctx.OutputShape(0).Elements();
  if (ctx.HasInput(2)) cost.work.Add(OpClass::kAdd, ctx.InputType(0), outputs);
  AddActivation(cost.work, ctx.InputType(0), "fastgelu", outputs);
  return cost;
}

// query [batch, length, width] or tokens; per head a product with [size, D], two sums over D / 2,
// two sigmoids, gate_u * (gate_r * eco_a - 1) + 2, times rel_pos for every key.
void InferGatedBias(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& rel_pos = ctx.InputShape(2);
  const bool packed = ctx.InputRank(0) == 2;
  const std::int64_t batch = packed ? ctx.InputDim(6, 0) : ctx.InputDim(0, 0);
  ctx.SetOutput(0, ctx.InputType(0), {batch, rel_pos.At(1), rel_pos.At(2), rel_pos.At(3)});
}

OpCost CostGatedBias(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const DType type = ctx.InputType(0);
  const Shape& weight = ctx.InputShape(3);
  RequireRank(ctx, 3, 2);
  const Count elements = ctx.InputShape(0).Elements();
  if (weight[0] < 1) throw Error("the weight {} has no rows", ToString(weight));
  const Count rows = elements / Count(weight[0]);  // one per token and head
  cost.work.Add(OpClass::kAdd, type, elements);
  cost.work.Add(OpClass::kMac, type, rows * weight[0] * weight[1]);
  cost.work.Add(OpClass::kAdd, type, rows * weight[1] + Folds(rows * weight[1], rows * 2));
  AddActivation(cost.work, type, "sigmoid", rows * 2);
  cost.work.Add(OpClass::kMul, type, rows * 2);
  cost.work.Add(OpClass::kAdd, type, rows * 2);
  cost.work.Add(OpClass::kMul, type, ctx.OutputShape(0).Elements());
  cost.nest = GemmNest{.m = rows, .n = weight[1], .k = weight[0], .b_input = 3};
  return cost;
}

// A sparse [M, K], B dense: one product per stored element of A and column of B. How many A stores
// is known of an initializer (its bytes hold the elements and at least one 64-bit index each).
void InferSparseMatMul(OpContext& ctx) {
  const DType type = ctx.InputType(1);
  ctx.SetOutputType(0, type);
  Shape a = ctx.InputShape(0), b = ctx.InputShape(1);
  if (ctx.Int("transA", 0) != 0 && a.rank() == 2) std::swap(a[0], a[1]);
  if (ctx.Int("transB", 0) != 0 && b.rank() == 2) std::swap(b[0], b[1]);
  ctx.SetOutput(0, type, MatrixProduct(a, b).out);
}

OpCost CostSparseMatMul(const OpContext& ctx) {
  OpCost cost;
  const DType type = ctx.InputType(1);
  const Tensor& a = ctx.Input(0);
  Count elements = ctx.InputShape(0).Elements();
  if (a.is_initializer && a.stored > Bytes(0)) {
    elements = std::min(elements, a.stored.count() / (Count(8) + SizeOf(a.type.dtype, 1).count()));
    cost.accesses.push_back({false, 0, AccessKind::kStream, a.stored});
  } else {
    AddRead(cost, ctx, 0);
  }
  AddRead(cost, ctx, 1);
  AddWrite(cost, ctx, 0);
  const Count columns = ctx.OutputShape(0).At(-1);
  cost.work.Add(OpClass::kMac, type, elements * columns);
  const double alpha = ctx.Float("alpha", 1);
  if (alpha != 1) cost.work.Add(OpClass::kMul, type, ctx.OutputShape(0).Elements());
  cost.note = "how many elements the sparse operand stores is counted at most";
  return cost;
}

constexpr OpCase kSparseMatMulCases[] = {
    {.what = "a sparse operand that is computed: at most dense",
     .inputs = "f32[3,4] f32[4,5]",
     .outputs = "f32[3,5]",
     .macs = 60,
     .flops = 120,
     .bytes_read = 4 * (12 + 20),
     .bytes_written = 60},
};

constexpr OpCase kFusedMatMulCases[] = {
    {.what = "B transposed and scaled",
     .attributes = "transB=1 alpha=0.125",
     .inputs = "f32[2,3,4] f32[2,5,4]",
     .outputs = "f32[2,3,5]",
     .macs = 120,
     .flops = 240 + 30,
     .bytes_read = 4 * (24 + 40),
     .bytes_written = 120},
    {.what = "A's first axis moved behind the batch",
     .attributes = "transBatchA=1",
     .inputs = "f32[3,2,4] f32[2,4,5]",
     .outputs = "f32[2,3,5]",
     .macs = 120,
     .flops = 240,
     .bytes_read = 4 * (24 + 40),
     .bytes_written = 120},
};

constexpr OpCase kFusedMatMulActivationCases[] = {
    {.what = "with Relu",
     .attributes = "activation='Relu'",
     .inputs = "f32[3,4] f32[4,5]",
     .outputs = "f32[3,5]",
     .macs = 60,
     .flops = 120 + 15,
     .bytes_read = 4 * 32,
     .bytes_written = 60},
};

constexpr OpCase kTransposeMatMulCases[] = {
    {.what = "A transposed",
     .attributes = "transA=1",
     .inputs = "f32[4,3] f32[4,5]",
     .outputs = "f32[3,5]",
     .macs = 60,
     .flops = 120,
     .bytes_read = 4 * 32,
     .bytes_written = 60},
};

constexpr OpCase kFusedGemmCases[] = {
    {.what = "bias and Relu",
     .attributes = "transB=1 activation='Relu'",
     .inputs = "f32[3,4] f32[5,4] f32[5]",
     .outputs = "f32[3,5]",
     .macs = 60,
     .flops = 120 + 15 + 15,
     .bytes_read = 4 * 37,
     .bytes_written = 60},
};

constexpr OpCase kGemmFloat8Cases[] = {
    {.what = "scaled on both sides, f16 result",
     .attributes = "transB=1 dtype=10",
     .inputs = "f8e4m3fn[3,4] f8e4m3fn[5,4] _ f32[] f32[]",
     .outputs = "f16[3,5]",
     .macs = 60,
     .flops = 120 + 30,
     .bytes_read = 32 + 8,
     .bytes_written = 30},
};

constexpr OpCase kGemmFastGeluCases[] = {
    {.what = "bias and tanh Gelu (8 FLOPs)",
     .inputs = "f16[1,3,4] f16[4,5] f16[5]",
     .outputs = "f16[1,3,5]",
     .macs = 60,
     .flops = 120 + 15 + 120,
     .bytes_read = 2 * (12 + 20 + 5),
     .bytes_written = 30},
};

// 6 rows of 4 (3 tokens, 2 heads): 24 bias additions, 6 * 4 * 8 MACs, 48 + 36 additions, 12
// sigmoids of 2, 12 multiplications, 12 additions; 2 * 3 * 3 products.
constexpr OpCase kGatedBiasCases[] = {
    {.what = "2 heads of 4, D = 8",
     .attributes = "num_heads=2",
     .inputs = "f32[1,3,8] f32[8] f32[1,2,3,3] f32[4,8] f32[8] f32[1,2,1,1]",
     .outputs = "f32[1,2,3,3]",
     .macs = 192,
     .flops = 384 + 24 + 84 + 24 + 24 + 18,
     .bytes_read = 4 * (24 + 8 + 18 + 32 + 8 + 2),
     .bytes_written = 72},
};

constexpr ContribOps kMakeContribMatMul{FusionRole::kAnchor};

constexpr std::string_view kMatMulFormula = "MACs = batch * M * N * K";

constexpr OpDef kContribMatMulOps[] = {
    kMakeContribMatMul("FusedMatMul", kMatMulFormula, InferFusedMatMul, CostFusedMatMul,
                       kFusedMatMulCases),
    kMakeContribMatMul("FusedMatMulActivation", kMatMulFormula, InferFusedMatMul, CostFusedMatMul,
                       kFusedMatMulActivationCases),
    kMakeContribMatMul("TransposeMatMul", kMatMulFormula, InferFusedMatMul, CostFusedMatMul,
                       kTransposeMatMulCases),
    kMakeContribMatMul("SparseToDenseMatMul", "MACs <= stored elements of A * N", InferSparseMatMul,
                       CostSparseMatMul, kSparseMatMulCases),
    kMakeContribMatMul("FusedGemm", "MACs = M * N * K; C adds M * N; the activation",
                       InferFusedGemm, CostFusedGemm, kFusedGemmCases),
    kMakeContribMatMul("GemmFloat8",
                       "MACs = M * N * K in the type of A; 1 mul per output and scale",
                       InferGemmFloat8, CostGemmFloat8, kGemmFloat8Cases),
    kMakeContribMatMul("GemmFastGelu", "MACs = M * N * K; bias and tanh Gelu per output",
                       InferGemmFastGelu, CostGemmFastGelu, kGemmFastGeluCases),
    kMakeContribMatMul("GatedRelativePositionBias", "MACs = tokens * heads * head_size * D",
                       InferGatedBias, CostGatedBias, kGatedBiasCases),
};

}  // namespace

std::span<const OpDef> ContribMatMulOps() { return kContribMatMulOps; }

}  // namespace dlcost
