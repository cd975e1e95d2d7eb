#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/contrib.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"
#include "models/operators/product.h"

namespace dlcost {
namespace {

// Products with a weight that is stored in blocks of a few bits. Counting: MACs as MatMul, in the
// type of A; the stored weight is converted once (N * K conversions, N * K integer subtractions
// where there are zero points) and each output multiplies once per block by its scale; a bias is 1
// addition per output. Bytes are those of the packed weight.

// A [..., K] times a weight of [K, N].
Product BlockProduct(const OpContext& ctx, std::int64_t k, std::int64_t n) {
  if (k < 0 || n < 0) throw Error("the weight is [{},{}]", k, n);
  return MatrixProduct(ctx.InputShape(0), Shape({k, n}));
}

Product AttributeProduct(const OpContext& ctx) {
  return BlockProduct(ctx, ctx.RequiredInt("K"), ctx.RequiredInt("N"));
}

void InferAttributes(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), AttributeProduct(ctx).out);
}

void AddBlockProduct(OpCost& cost, const OpContext& ctx, const Product& product, int weight,
                     std::int64_t block, bool zero_points) {
  const DType type = ctx.InputType(0);
  AddProduct(cost, ctx, product, 0, weight);
  const Count weights = product.n * product.k;
  const Count blocks = block > 0 ? CeilDiv(product.k, block) : Count(1);
  cost.work.Add(OpClass::kConvert, type, weights);
  if (zero_points) cost.work.Add(OpClass::kInteger, DType::kInt32, weights);
  cost.work.Add(OpClass::kMul, type, product.out.Elements() * blocks);
}

// Inputs: A, B, scales, zero_points, g_idx, bias.
OpCost CostMatMulNBits(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Product product = AttributeProduct(ctx);
  AddBlockProduct(cost, ctx, product, 1, ctx.RequiredInt("block_size"), ctx.HasInput(3));
  if (ctx.HasInput(5)) cost.work.Add(OpClass::kAdd, ctx.InputType(0), product.out.Elements());
  return cost;
}

// Inputs: A, B, absmax; fp4 or nf4 codes are looked up, which is the conversion.
OpCost CostMatMulBnb4(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  AddBlockProduct(cost, ctx, AttributeProduct(ctx), 1, ctx.RequiredInt("block_size"), false);
  return cost;
}

// The way back of both goes through the weight in the type of the result: bitsandbytes, autograd/
// _functions.py, MatMul4Bit. Inputs: B, scales, zero_points, g_idx. [N, K]: a conversion and a
// multiplication per weight, an integer subtraction where there are zero points.
void InferDequantizeWeight(OpContext& ctx) {
  const DType type = DTypeFromOnnx(static_cast<int>(ctx.RequiredInt("dtype")));
  ctx.SetOutput(0, type, {ctx.RequiredInt("N"), ctx.RequiredInt("K")});
}

OpCost CostDequantizeWeight(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count weights = Count(ctx.RequiredInt("N")) * ctx.RequiredInt("K");
  cost.work.Add(OpClass::kConvert, ctx.OutputType(0), weights);
  cost.work.Add(OpClass::kMul, ctx.OutputType(0), weights);
  if (ctx.HasInput(2)) cost.work.Add(OpClass::kInteger, DType::kInt32, weights);
  cost.nest = ElementwiseNest{weights};
  return cost;
}

// Inputs: A, B, B_shape. Blocks of 32 in all of the format's variants.
Product ShapedProduct(const OpContext& ctx) {
  const std::vector<std::int64_t> shape = ctx.InputInts(2);
  if (shape.size() != 2) throw Error("B_shape has {} entries, not 2", shape.size());
  return BlockProduct(ctx, shape[0], shape[1]);
}

void InferMatMulFpQ4(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), ShapedProduct(ctx).out);
}

OpCost CostMatMulFpQ4(const OpContext& ctx) {
  OpCost cost;
  AddRead(cost, ctx, 0);
  AddRead(cost, ctx, 1);
  AddWrite(cost, ctx, 0);
  AddBlockProduct(cost, ctx, ShapedProduct(ctx), 1, 32, false);
  return cost;
}

// B is [N, K] in fp8, or [N, K / 2] with two fp4 numbers in a byte.
Product StoredProduct(const OpContext& ctx) {
  RequireRank(ctx, 1, 2);
  return BlockProduct(ctx, ctx.InputDim(0, -1), ctx.InputDim(1, 0));
}

void InferStored(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), StoredProduct(ctx).out);
}

OpCost CostFp4(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Product product = StoredProduct(ctx);
  AddBlockProduct(cost, ctx, product, 1, ctx.Int("block_size", 16), false);
  cost.work.Add(OpClass::kMul, ctx.InputType(0), product.out.Elements());  // the global scale
  if (ctx.HasInput(5)) cost.work.Add(OpClass::kAdd, ctx.InputType(0), product.out.Elements());
  return cost;
}

OpCost CostFp8(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Product product = StoredProduct(ctx);
  AddBlockProduct(cost, ctx, product, 1, ctx.Int("block_size", 128), false);
  if (ctx.HasInput(4)) cost.work.Add(OpClass::kAdd, ctx.InputType(0), product.out.Elements());
  return cost;
}

// Fused projections of the same rows. Inputs from `first` on: weight, scales, bias for each width;
// before them A, skip and norm_scale.
void AddProjections(OpCost& cost, const OpContext& ctx,
                    std::initializer_list<std::int64_t> widths) {
  const DType type = ctx.InputType(0);
  const Shape& a = ctx.InputShape(0);
  const Count elements = a.Elements();
  const Count rows = a.At(-1) > 0 ? elements / Count(a.At(-1)) : Count(0);
  if (ctx.HasInput(1)) cost.work.Add(OpClass::kAdd, type, elements);
  if (ctx.HasInput(2)) {
    AddMeanSquare(cost.work, DType::kFloat32, elements, rows);
    cost.work.Add(OpClass::kMul, type, elements * 2);
  }
  int weight = 3;
  Count columns;
  for (const std::int64_t width : widths) {
    const Product product = BlockProduct(ctx, ctx.RequiredInt("K"), width);
    AddBlockProduct(cost, ctx, product, weight, ctx.RequiredInt("block_size"), false);
    if (ctx.HasInput(weight + 2)) cost.work.Add(OpClass::kAdd, type, product.out.Elements());
    weight += 3;
    columns += width;
  }
  std::get<GemmNest>(cost.nest).n = columns;  // one product with the weights side by side
}

Shape Widened(const OpContext& ctx, std::int64_t width) {
  return BlockProduct(ctx, ctx.RequiredInt("K"), width).out;
}

void InferMlp(OpContext& ctx) {
  for (const int i : {0, 1}) ctx.SetOutputType(i, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), Widened(ctx, ctx.RequiredInt("N")));
  ctx.SetOutput(1, ctx.InputType(0), ctx.InputShape(0));
}

OpCost CostMlp(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const std::int64_t n = ctx.RequiredInt("N");
  AddProjections(cost, ctx, {n, n});
  const Count outputs = ctx.OutputShape(0).Elements();
  AddActivation(cost.work, ctx.InputType(0), ctx.String("activation", ""), outputs);
  cost.work.Add(OpClass::kMul, ctx.InputType(0), outputs);
  return cost;
}

void InferQkv(OpContext& ctx) {
  for (const int i : {0, 1, 2, 3}) ctx.SetOutputType(i, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), Widened(ctx, ctx.RequiredInt("Nq")));
  ctx.SetOutput(1, ctx.InputType(0), Widened(ctx, ctx.RequiredInt("Nkv")));
  ctx.SetOutput(2, ctx.InputType(0), Widened(ctx, ctx.RequiredInt("Nkv")));
  ctx.SetOutput(3, ctx.InputType(0), ctx.InputShape(0));
}

OpCost CostQkv(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const std::int64_t kv = ctx.RequiredInt("Nkv");
  AddProjections(cost, ctx, {ctx.RequiredInt("Nq"), kv, kv});
  return cost;
}

// What `input` holds of blocks along `k`, for each of `n` rows: the weight itself, or one number
// per block. Rows of packed bytes are padded, so that the bytes do not tell.
std::optional<Count> NumbersOf(const OpContext& ctx, std::int64_t k, std::int64_t n,
                               bool per_block) {
  if (k < 0 || n < 0) return std::nullopt;
  const std::int64_t block = ctx.RequiredInt("block_size");
  if (!per_block) return Count(n) * k;
  return block > 0 ? std::optional(Count(n) * CeilDiv(k, block)) : std::nullopt;
}

std::optional<Count> PackedNBits(const OpContext& ctx, int input) {
  if (input != 1 && input != 3) return std::nullopt;
  if (input == 3 && IsFloat(ctx.InputType(3))) return std::nullopt;  // not packed
  return NumbersOf(ctx, ctx.RequiredInt("K"), ctx.RequiredInt("N"), input == 3);
}

std::optional<Count> PackedWeight(const OpContext& ctx, int input) {
  if (input != 0 && input != 2) return std::nullopt;
  return NumbersOf(ctx, ctx.RequiredInt("K"), ctx.RequiredInt("N"), input == 2);
}

std::optional<Count> PackedBnb4(const OpContext& ctx, int input) {
  if (input != 1) return std::nullopt;
  return NumbersOf(ctx, ctx.RequiredInt("K"), ctx.RequiredInt("N"), false);
}

// The blob holds weights and, between them, a scale per block of 32.
std::optional<Count> PackedFpQ4(const OpContext& ctx, int input) {
  const Value* shape = ctx.InputValue(2);
  if (input != 1 || shape == nullptr || shape->size() != 2) return std::nullopt;
  const Count k = shape->ints()[0], n = shape->ints()[1];
  return n * (k + CeilDiv(k, 32));
}

// Two fp4 numbers in a byte; its scales are a byte each.
std::optional<Count> PackedFp4(const OpContext& ctx, int input) {
  if (input != 1 || ctx.InputType(1) != DType::kUint8) return std::nullopt;
  return ctx.InputShape(1).Elements() * 2;
}

// Weights from input `first` on, each followed by its scales and its bias.
std::optional<Count> PackedProjection(const OpContext& ctx, int input, int first,
                                      std::initializer_list<std::string_view> widths) {
  for (const std::string_view width : widths) {
    if (input == first) {
      return NumbersOf(ctx, ctx.RequiredInt("K"), ctx.RequiredInt(width), false);
    }
    first += 3;
  }
  return std::nullopt;
}

std::optional<Count> PackedMlp(const OpContext& ctx, int input) {
  return PackedProjection(ctx, input, 3, {"N", "N"});
}

std::optional<Count> PackedQkv(const OpContext& ctx, int input) {
  return PackedProjection(ctx, input, 3, {"Nq", "Nkv", "Nkv"});
}

// 3 * 8 outputs, K = 64 in 2 blocks.
constexpr OpCase kMatMulNBitsCases[] = {
    {.what = "4 bits in blocks of 32, zero points, bias",
     .attributes = "K=64 N=8 bits=4 block_size=32",
     .inputs = "f16[1,3,64] w:u8[8,2,16] w:f16[8,2] w:u8[8,1] _ w:f16[8]",
     .outputs = "f16[1,3,8]",
     .macs = 1536,
     .flops = 3072 + 48 + 24,
     .bytes_read = 384 + 256 + 32 + 8 + 16,
     .bytes_written = 48},
};

constexpr OpCase kMatMulBnb4Cases[] = {
    {.what = "nf4 in blocks of 64",
     .attributes = "K=64 N=8 quant_type=1 block_size=64",
     .inputs = "f16[3,64] w:u8[256] w:f16[8]",
     .outputs = "f16[3,8]",
     .macs = 1536,
     .flops = 3072 + 24,
     .bytes_read = 384 + 256 + 16,
     .bytes_written = 48},
};

constexpr OpCase kDequantizeWeightCases[] = {
    {.what = "4 bits in blocks of 32, zero points",
     .attributes = "K=64 N=8 bits=4 block_size=32 dtype=10",
     .inputs = "w:u8[8,2,16] w:f16[8,2] w:u8[8,1]",
     .outputs = "f16[8,64]",
     .flops = 512,
     .bytes_read = 256 + 32 + 8,
     .bytes_written = 1024},
};

constexpr OpCase kMatMulFpQ4Cases[] = {
    {.what = "a blob of 8 columns of 2 blocks",
     .inputs = "f32[3,64] w:u8[320] i64[2]{64,8}",
     .outputs = "f32[3,8]",
     .macs = 1536,
     .flops = 3072 + 48,
     .bytes_read = 768 + 320,
     .bytes_written = 96},
};

constexpr OpCase kFp4Cases[] = {
    {.what = "nvfp4, blocks of 16 and a global scale",
     .inputs = "f16[3,64] w:u8[8,32] w:u8[8,4] w:f32[]",
     .outputs = "f16[3,8]",
     .macs = 1536,
     .flops = 3072 + 96 + 24,
     .bytes_read = 384 + 256 + 32 + 4,
     .bytes_written = 48},
};

constexpr OpCase kFp8Cases[] = {
    {.what = "fp8 in blocks of 128",
     .inputs = "f16[3,256] w:f8e4m3fn[8,256] w:f32[8,2]",
     .outputs = "f16[3,8]",
     .macs = 6144,
     .flops = 12288 + 48,
     .bytes_read = 1536 + 2048 + 64,
     .bytes_written = 48},
};

// Two projections of 1536 MACs and 48 block scales; norm: 192 mul, 192 add, 3 div, 3 sqrt, 384 mul;
// SiLU 3 and 1 multiplication per output.
constexpr OpCase kMlpCases[] = {
    {.what = "normalized, SiLU gate",
     .attributes = "K=64 N=8 bits=4 block_size=32 activation='silu'",
     .inputs = "f16[3,64] _ w:f16[64] w:u8[8,2,16] w:f16[8,2] _ w:u8[8,2,16] w:f16[8,2] _",
     .outputs = "f16[3,8]",
     .macs = 3072,
     .flops = 6144 + 96 + 384 + 6 + 384 + 72 + 24,
     .bytes_read = 384 + 128 + 2 * (256 + 32),
     .bytes_written = 48},
};

constexpr OpCase kQkvCases[] = {
    {.what = "normalized; 8 query, 4 key and 4 value columns",
     .attributes = "K=64 Nq=8 Nkv=4 bits=4 block_size=32",
     .inputs = "f16[3,64] _ w:f16[64] w:u8[8,2,16] w:f16[8,2] _ w:u8[4,2,16] w:f16[4,2] _ "
               "w:u8[4,2,16] w:f16[4,2] _",
     .outputs = "f16[3,8] f16[3,4] f16[3,4]",
     .macs = 3072,
     .flops = 6144 + 96 + 384 + 6 + 384,
     .bytes_read = 384 + 128 + 256 + 32 + 2 * (128 + 16),
     .bytes_written = 48 + 24 + 24},
};

// Operands are numbers or 32-bit indices and shapes: the width tells.
constexpr ContribOps kMakeContribBlockwise{FusionRole::kAnchor, "com.microsoft", IntegerInputs{}};

constexpr OpDef Holding(OpDef def, std::optional<Count> (*packed)(const OpContext&, int)) {
  def.packed = packed;
  return def;
}

constexpr std::string_view kContribBlockwiseFormula =
    "MACs = M * N * K; N * K conversions, 1 mul per output and block";

constexpr OpDef kContribBlockwiseOps[] = {
    Holding(kMakeContribBlockwise("MatMulNBits", kContribBlockwiseFormula, InferAttributes,
                                  CostMatMulNBits, kMatMulNBitsCases),
            PackedNBits),
    Holding(kMakeContribBlockwise("MatMulBnb4", kContribBlockwiseFormula, InferAttributes,
                                  CostMatMulBnb4, kMatMulBnb4Cases),
            PackedBnb4),
    Holding({.name = "DequantizeWeight",
             .domain = "dlcost.training",
             .formula = "N * K conversions and multiplications",
             .infer = InferDequantizeWeight,
             .cost = CostDequantizeWeight,
             .cases = kDequantizeWeightCases,
             .integers = IntegerInputs{}},
            PackedWeight),
    Holding(kMakeContribBlockwise("MatMulFpQ4", kContribBlockwiseFormula, InferMatMulFpQ4,
                                  CostMatMulFpQ4, kMatMulFpQ4Cases),
            PackedFpQ4),
    Holding(kMakeContribBlockwise("MatMulBlockQuantizedFp4Weight", kContribBlockwiseFormula,
                                  InferStored, CostFp4, kFp4Cases),
            PackedFp4),
    kMakeContribBlockwise("MatMulBlockQuantizedFp8Weight", kContribBlockwiseFormula, InferStored,
                          CostFp8, kFp8Cases),
    Holding(
        kMakeContribBlockwise("MatMulNBitsMlp",
                              "two MatMulNBits of the same rows; activation and 1 mul per output",
                              InferMlp, CostMlp, kMlpCases),
        PackedMlp),
    Holding(kMakeContribBlockwise("MatMulNBitsQkv", "three MatMulNBits of the same normalized rows",
                                  InferQkv, CostQkv, kQkvCases),
            PackedQkv),
};

}  // namespace

std::span<const OpDef> ContribBlockwiseOps() { return kContribBlockwiseOps; }

}  // namespace dlcost
