#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/conv.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Counting. DeformConv, with n spatial axes: for every input channel, tap and output position one
// n-linear interpolation of 2^n MACs (2^n weights for each offset group, tap and position: n
// additions for the position, n for the complements, 2^n * (n - 1) multiplications), one
// multiplication when there is a mask; then the MACs of the convolution; 1 addition for the bias.
// Col2Im: one addition per column element that lands in the image, counted densely, less one for
// each image element (the first of a sum is a copy).

void InferDeformConv(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), ForwardConv(ctx, {}).out);
}

OpCost CostDeformConv(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const ConvShape conv = ForwardConv(ctx, {});
  const DType type = ctx.InputType(0);
  AddConv(cost, conv, type);
  const LoopNest product = cost.nest;
  cost.valid_macs = Macs();  // where the samples fall is data
  const auto axes = static_cast<std::int64_t>(conv.window.in.size());
  if (axes > 30) throw Error("{} spatial axes", axes);
  const Count corners = Count(std::int64_t{1} << axes);
  const Count groups = ctx.Int("offset_group", 1);
  const Count places =
      conv.out.Product(2, conv.out.rank()) * conv.batch * conv.window.KernelElements();
  const Count samples = places * conv.in_channels;
  // Every sample is a weighted sum of the corners around it.
  cost.AddPart("interpolation", GemmNest{.batch = samples, .m = 1, .n = 1, .k = corners}, type);
  cost.parts.push_back({"convolution", product, type});
  cost.work.Add(OpClass::kAdd, type, places * groups * (axes * 2));
  cost.work.Add(OpClass::kMul, type, places * groups * corners * Count(axes - 1));
  if (ctx.HasInput(4)) cost.work.Add(OpClass::kMul, type, samples);
  if (ctx.HasInput(3)) cost.work.Add(OpClass::kAdd, type, conv.out.Elements());
  cost.note = "interpolation included: samples are counted as if all fell on data";
  return cost;
}

void InferCol2Im(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  RequireRank(ctx, 0, 3);
  const std::vector<std::int64_t> image = ctx.InputInts(1);
  const std::vector<std::int64_t> block = ctx.InputInts(2);
  Count block_elements = 1;
  for (const std::int64_t extent : block) {
    if (extent < 1) throw Error("the block {} has an extent below 1", ToString(Shape(block)));
    block_elements *= extent;
  }
  const Count rows = ctx.InputDim(0, 1);
  if (rows % block_elements != Count(0)) {
    throw Error("{} rows are not a multiple of the block {}", rows, ToString(Shape(block)));
  }
  const Window window = WindowOver(ctx, image, block);
  if (Shape(window.out).Elements() != Count(ctx.InputDim(0, 2))) {
    throw Error("{} columns where the image {} has {} blocks", ctx.InputDim(0, 2),
                ToString(Shape(image)), Shape(window.out).Elements());
  }
  std::vector<std::int64_t> dims = {ctx.InputDim(0, 0), (rows / block_elements).value()};
  dims.insert(dims.end(), image.begin(), image.end());
  ctx.SetOutput(0, ctx.InputType(0), Shape(std::move(dims)));
}

OpCost CostCol2Im(const OpContext& ctx) {
  OpCost cost;
  AddRead(cost, ctx, 0);
  AddWrite(cost, ctx, 0);
  const Count columns = ctx.InputShape(0).Elements();
  const Count image = ctx.OutputShape(0).Elements();
  if (columns > image) cost.work.Add(OpClass::kAdd, ctx.InputType(0), columns - image);
  cost.nest = ElementwiseNest{columns};
  return cost;
}

// 4 positions, 4 taps, 1 channel: 16 samples of 4 MACs, 16 MACs to convolve; positions 16 * 4
// additions, weights 16 * 4 multiplications, the mask 16.
constexpr OpCase kDeformConvCases[] = {
    {.what = "2x2, one channel, with mask",
     .attributes = "kernel_shape=[2,2]",
     .inputs = "f32[1,1,3,3] w:f32[1,1,2,2] f32[1,8,2,2] _ f32[1,4,2,2]",
     .outputs = "f32[1,1,2,2]",
     .macs = 64 + 16,
     .flops = 160 + 64 + 64 + 16,
     .bytes_read = 4 * (9 + 4 + 32 + 16),
     .bytes_written = 16},
};

// 5 rows of 5 columns, 25 image elements.
constexpr OpCase kCol2ImCases[] = {
    {.what = "blocks that do not overlap: a copy",
     .inputs = "f32[1,5,5] i64[2]{5,5} i64[2]{1,5}",
     .outputs = "f32[1,1,5,5]",
     .bytes_read = 100,
     .bytes_written = 100},
    {.what = "3x3 blocks with stride 1: 9 * 9 values into 25",
     .inputs = "f32[1,9,9] i64[2]{5,5} i64[2]{3,3}",
     .outputs = "f32[1,1,5,5]",
     .flops = 81 - 25,
     .bytes_read = 324,
     .bytes_written = 100},
};

constexpr OpDef kOps[] = {
    {.name = "DeformConv",
     .since = {19, 22},
     .formula = "MACs as Conv, and 2^n per sample, N * Cin * prod(out) * prod(kernel) samples",
     .infer = InferDeformConv,
     .cost = CostDeformConv,
     .cases = kDeformConvCases},
    {.name = "Col2Im",
     .since = {18},
     .formula = "1 add per column element, less 1 per image element",
     .infer = InferCol2Im,
     .cost = CostCol2Im,
     .role = FusionRole::kMovement,
     .cases = kCol2ImCases},
};

}  // namespace

std::span<const OpDef> DeformableOps() { return kOps; }

}  // namespace dlcost
