#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/contrib.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// The rest of ONNX Runtime's domain. Counting:
// CropAndResize: per output of 'bilinear' 3 interpolations of 1 MAC and 1 subtraction.
// DynamicTimeWarping: per cell 2 comparisons, 1 addition. IsAllFinite: 2 comparisons per element.
// Hashes and n-grams are integer work. Formats of cublasLt: QuantizeLinear without a zero point.

// Inputs: X [N, C, H, W], rois [R, 4], batch_indices [R], crop_size [2].
void InferCropAndResize(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  RequireRank(ctx, 0, 4);
  const std::vector<std::int64_t> size = ctx.InputInts(3);
  if (size.size() != 2) throw Error("crop_size has {} entries, not 2", size.size());
  ctx.SetOutput(0, ctx.InputType(0), {ctx.InputDim(1, 0), ctx.InputDim(0, 1), size[0], size[1]});
}

OpCost CostCropAndResize(const OpContext& ctx) {
  OpCost cost;
  const Count outputs = ctx.OutputShape(0).Elements();
  const bool bilinear = ctx.String("mode", "bilinear") == "bilinear";
  const Count touched = std::min(outputs * Count(bilinear ? 4 : 1), ctx.InputShape(0).Elements());
  AddPartialRead(cost, ctx, 0, touched, AccessKind::kGather);
  AddRead(cost, ctx, 1);
  AddRead(cost, ctx, 2);
  AddWrite(cost, ctx, 0);
  if (bilinear) {
    cost.work.Add(OpClass::kMac, ctx.InputType(0), outputs * 3);
    cost.work.Add(OpClass::kAdd, ctx.InputType(0), outputs * 3);
  }
  cost.nest = ElementwiseNest{outputs};
  return cost;
}

void InferAllFinite(OpContext& ctx) { ctx.SetOutput(0, DType::kBool, {1}); }

OpCost CostAllFinite(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  for (int i = 0; i < ctx.NumInputs(); ++i) {
    cost.work.Add(OpClass::kCompare, ctx.InputType(i), ctx.InputShape(i).Elements() * 2);
  }
  return cost;
}

void InferUnfold(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  Shape out = ctx.InputShape(0);
  const std::size_t axis = NormalizeAxis(ctx.Int("dim", -1), out.rank());
  const std::int64_t size = ctx.RequiredInt("size"), step = ctx.Int("step", 1);
  if (size < 1 || step < 1 || size > out[axis]) {
    throw Error("slices of {} with step {} do not fit in {}", size, step, out[axis]);
  }
  out[axis] = (out[axis] - size) / step + 1;
  out.Append(size);
  ctx.SetOutput(0, ctx.InputType(0), std::move(out));
}

void InferHash(OpContext& ctx) {
  const DType type = ctx.Int("positive", 1) != 0 ? DType::kUint32 : DType::kInt32;
  ctx.SetOutputType(0, type);
  ctx.SetOutput(0, type, ctx.InputShape(0));
}

OpCost CostHash(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  cost.work.Add(OpClass::kInteger, DType::kUint32, ctx.InputShape(0).Elements());
  cost.nest = ElementwiseNest{ctx.InputShape(0).Elements()};
  return cost;
}

// Ids [..., length] to [..., length, orders * heads]; per order one multiplication and one xor for
// each shift, per head one remainder.
void InferNGram(OpContext& ctx) {
  const DType type = ctx.InputType(0);
  for (const int i : {0, 1}) ctx.SetOutputType(i, type);
  Shape out = ctx.InputShape(0);
  const std::int64_t shifts = ctx.RequiredInt("max_ngram_size") - 1;
  const bool packed = ctx.op() == "VarlenNGramHashMapping";
  const std::int64_t batch = packed ? ctx.InputDim(3, 0) - 1 : ctx.InputDim(0, 0);
  out.Append((Count(shifts) * ctx.RequiredInt("n_head_per_ngram")).value());
  ctx.SetOutput(0, type, std::move(out));
  ctx.SetOutput(1, type, {batch, shifts});
}

OpCost CostNGram(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count orders = Count(ctx.RequiredInt("max_ngram_size")) - Count(1);
  const Count products = ctx.InputShape(0).Elements() * (orders * (orders + Count(3)) / 2);
  cost.work.Add(OpClass::kInteger, ctx.InputType(0), products * 2 + ctx.OutputShape(0).Elements());
  return cost;
}

// Costs [M, N] or [1, M, N] to a path [2, x], x < M + N.
void InferWarping(OpContext& ctx) {
  ctx.SetOutputType(0, DType::kInt32);
  ctx.SetOutput(0, DType::kInt32, {2, ctx.InputDim(0, -2) + ctx.InputDim(0, -1) - 1});
  ctx.MarkUpperBound(0);
}

OpCost CostWarping(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count cells = ctx.InputShape(0).Elements();
  cost.work.Add(OpClass::kCompare, ctx.InputType(0), cells * 2);
  cost.work.Add(OpClass::kAdd, ctx.InputType(0), cells);
  return cost;
}

void InferQuantizeOrder(OpContext& ctx) {
  ctx.SetOutputType(0, DType::kInt8);
  ctx.SetOutput(0, DType::kInt8, ctx.InputShape(0));
}

OpCost CostQuantizeOrder(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(0).Elements();
  cost.work.Add(OpClass::kDiv, ctx.InputType(1), elements);
  cost.work.Add(OpClass::kConvert, ctx.InputType(1), elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

void InferDequantizeOrder(OpContext& ctx) {
  const DType type = ctx.RequiredInt("to") == static_cast<std::int64_t>(DType::kFloat16)
                         ? DType::kFloat16
                         : DType::kFloat32;
  ctx.SetOutputType(0, type);
  ctx.SetOutput(0, type, ctx.InputShape(0));
}

OpCost CostDequantizeOrder(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(0).Elements();
  cost.work.Add(OpClass::kConvert, ctx.OutputType(0), elements);
  cost.work.Add(OpClass::kMul, ctx.OutputType(0), elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

constexpr OpCase kCropAndResizeCases[] = {
    {.what = "2 crops of 3x3",
     .inputs = "f32[1,2,8,8] f32[2,4] i32[2] i32[2]{3,3}",
     .outputs = "f32[2,2,3,3]",
     .macs = 108,
     .flops = 216 + 108,
     .bytes_read = 512 + 32 + 8,
     .bytes_written = 144},
};

constexpr OpCase kAllFiniteCases[] = {
    {.what = "6 elements",
     .inputs = "f32[2,3]",
     .outputs = "bool[1]",
     .flops = 12,
     .bytes_read = 24,
     .bytes_written = 1},
};

constexpr OpCase kUnfoldCases[] = {
    {.what = "slices of 4 with step 2",
     .attributes = "dim=-1 size=4 step=2",
     .inputs = "f32[2,10]",
     .outputs = "f32[2,4,4]",
     .bytes_read = 80,
     .bytes_written = 128},
};

constexpr OpCase kHashCases[] = {
    {.what = "integer work",
     .inputs = "i64[2,3]",
     .outputs = "u32[2,3]",
     .bytes_read = 48,
     .bytes_written = 24},
};

constexpr OpCase kNGramCases[] = {
    {.what = "2- and 3-grams, 4 heads each",
     .attributes = "max_ngram_size=3 n_head_per_ngram=4 pad_id=0",
     .inputs = "i64[2,5] i64[3] i64[8]",
     .outputs = "i64[2,5,8] i64[2,2]",
     .bytes_read = 80 + 24 + 64,
     .bytes_written = 640 + 32},
};

constexpr OpCase kVarlenNGramCases[] = {
    {.what = "5 tokens of 2 sequences",
     .attributes = "max_ngram_size=3 n_head_per_ngram=4 pad_id=0",
     .inputs = "i64[5] i64[3] i64[8] i32[3]",
     .outputs = "i64[5,8] i64[2,2]",
     .bytes_read = 40 + 24 + 64 + 12,
     .bytes_written = 320 + 32},
};

constexpr OpCase kWarpingCases[] = {
    {.what = "12 cells, a path of at most 6",
     .inputs = "f32[3,4]",
     .outputs = "i32[2,6]",
     .flops = 36,
     .bytes_read = 48,
     .bytes_written = 48},
};

constexpr OpCase kQuantizeOrderCases[] = {
    {.what = "6 divisions",
     .attributes = "order_input=1 order_output=2",
     .inputs = "f16[2,3] f16[]",
     .outputs = "i8[2,3]",
     .flops = 6,
     .bytes_read = 14,
     .bytes_written = 6},
};

constexpr OpCase kDequantizeOrderCases[] = {
    {.what = "6 multiplications",
     .attributes = "order_input=2 order_output=1 to=10",
     .inputs = "i8[2,3] f32[]",
     .outputs = "f16[2,3]",
     .flops = 6,
     .bytes_read = 10,
     .bytes_written = 12},
};

constexpr ContribOps kMakeContribMisc;

constexpr auto kMiscPointwise = FusionRole::kElementwise;

constexpr OpDef kContribMiscOps[] = {
    kMakeContribMisc("CropAndResize", "bilinear: 3 MACs, 3 adds per output", InferCropAndResize,
                     CostCropAndResize, kCropAndResizeCases),
    kMakeContribMisc("IsAllFinite", "2 compares per element", InferAllFinite, CostAllFinite,
                     kAllFiniteCases),
    kMakeContribMisc("UnfoldTensor", "no arithmetic; moves overlapping slices", InferUnfold,
                     CostMove, kUnfoldCases, FusionRole::kMovement),
    kMakeContribMisc("MurmurHash3", "1 integer per element", InferHash, CostHash, kHashCases,
                     kMiscPointwise),
    kMakeContribMisc("NGramHashMapping", "integer products, xors and remainders", InferNGram,
                     CostNGram, kNGramCases),
    kMakeContribMisc("VarlenNGramHashMapping", "integer products, xors and remainders", InferNGram,
                     CostNGram, kVarlenNGramCases),
    kMakeContribMisc("DynamicTimeWarping", "2 compares, 1 add per cell", InferWarping, CostWarping,
                     kWarpingCases),
    kMakeContribMisc("QuantizeWithOrder", "1 div, 1 convert per element", InferQuantizeOrder,
                     CostQuantizeOrder, kQuantizeOrderCases, kMiscPointwise),
    kMakeContribMisc("DequantizeWithOrder", "1 convert, 1 mul per element", InferDequantizeOrder,
                     CostDequantizeOrder, kDequantizeOrderCases, kMiscPointwise),
};

}  // namespace

std::span<const OpDef> ContribMiscOps() { return kContribMiscOps; }

}  // namespace dlcost
