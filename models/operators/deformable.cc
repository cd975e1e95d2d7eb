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

// DeformConvGrad, as torchvision goes back (ops/cuda/deform_conv2d_kernel.cu): columns W' dY, of
// the MACs of the convolution, are scattered over the corners for dX (2^n multiplications and
// additions per sample), and times what a sample changes by along each axis, or by the mask, for
// those (along an axis 2^n - 1 additions and, for n above 1, 2^(n-1) multiplications, then 1 of
// each). dW takes the samples again, and the MACs of the convolution. Positions are computed in
// both passes.

// What places samples among the corners around them.
struct Samples {
  std::int64_t axes = 0;
  Count corners, places, samples;
};

Samples SamplesOf(const OpContext& ctx, const ConvShape& conv) {
  Samples s;
  s.axes = static_cast<std::int64_t>(conv.window.in.size());
  if (s.axes > 30) throw Error("{} spatial axes", s.axes);
  s.corners = Count(std::int64_t{1} << s.axes);
  s.places = conv.out.Product(2, conv.out.rank()) * conv.batch * conv.window.KernelElements();
  s.samples = s.places * conv.in_channels;
  s.places = s.places * Count(ctx.Int("offset_group", 1));
  return s;
}

void AddPlacing(OpCost& cost, const Samples& s, DType type) {
  cost.work.Add(OpClass::kAdd, type, s.places * (s.axes * 2));
  cost.work.Add(OpClass::kMul, type, s.places * s.corners * Count(s.axes - 1));
}

// Every sample is a weighted sum of the corners around it.
LoopNest Interpolation(const Samples& s) {
  return GemmNest{.batch = s.samples, .m = 1, .n = 1, .k = s.corners};
}

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
  const Samples s = SamplesOf(ctx, conv);
  cost.AddPart("interpolation", Interpolation(s), type);
  cost.parts.push_back({"convolution", product, type});
  AddPlacing(cost, s, type);
  if (ctx.HasInput(4)) cost.work.Add(OpClass::kMul, type, s.samples);
  if (ctx.HasInput(3)) cost.work.Add(OpClass::kAdd, type, conv.out.Elements());
  cost.note = "interpolation included: samples are counted as if all fell on data";
  return cost;
}

// Inputs: X, W, offset, mask, dY. Outputs: their gradients but that of dY.
void InferDeformConvGrad(OpContext& ctx) {
  for (int i = 0; i < 4; ++i) {
    if (ctx.HasOutput(i) && ctx.HasInput(i)) {
      ctx.SetOutput(i, ctx.InputType(i), ctx.InputShape(i));
    }
  }
}

OpCost CostDeformConvGrad(const OpContext& ctx) {
  OpCost cost;
  const bool data = ctx.HasOutput(0), weight = ctx.HasOutput(1), offset = ctx.HasOutput(2),
             mask = ctx.HasOutput(3);
  const bool columns = data || offset || mask;
  if (weight || offset || mask) AddRead(cost, ctx, 0);
  if (columns) AddRead(cost, ctx, 1);
  for (const int i : {2, 3, 4}) AddRead(cost, ctx, i);
  for (int i = 0; i < ctx.NumOutputs(); ++i) AddWrite(cost, ctx, i);
  const ConvShape conv = ForwardConv(ctx, {});
  const DType type = ctx.InputType(0);
  const Samples s = SamplesOf(ctx, conv);
  OpCost forward;
  AddConv(forward, conv, type);
  const Count masked = ctx.HasInput(3) ? s.samples : Count(0);
  const auto add = [&](Count mul, Count sum) {
    cost.work.Add(OpClass::kMul, type, mul);
    cost.work.Add(OpClass::kAdd, type, sum);
  };
  if (columns) {
    cost.AddPart("columns", forward.nest, type);
    AddPlacing(cost, s, type);
  }
  if (data) add(s.samples * s.corners + masked, s.samples * s.corners);
  if (offset) {
    const Count slopes = s.axes > 1 ? s.corners / Count(2) : Count(0);
    add((s.samples * (slopes + 1) + masked) * s.axes, s.samples * s.corners * s.axes);
  }
  if (mask) {
    cost.AddPart("samples for the mask", Interpolation(s), type);
    add(s.samples, s.samples);
  }
  if (weight) {
    cost.AddPart("samples for the weight", Interpolation(s), type);
    cost.AddPart("dW", forward.nest, type);
    AddPlacing(cost, s, type);
    add(masked, 0);
  }
  cost.nest = forward.nest;
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

// As above: 16 samples of 4 corners. dX 16 * 8 and the mask 16, offsets 2 * 16 * (3 + 4) and the
// mask 32, mask 32, dW the mask 16; positions and weights twice 128.
constexpr OpCase kDeformConvGradCases[] = {
    {.what = "2x2, one channel, all gradients",
     .attributes = "kernel_shape=[2,2]",
     .inputs = "f32[1,1,3,3] w:f32[1,1,2,2] f32[1,8,2,2] f32[1,4,2,2] f32[1,1,2,2]",
     .outputs = "f32[1,1,3,3] f32[1,1,2,2] f32[1,8,2,2] f32[1,4,2,2]",
     .macs = 16 + 64 + 64 + 16,
     .flops = 320 + 144 + 256 + 32 + 16 + 256,
     .bytes_read = 4 * (9 + 4 + 32 + 16 + 4),
     .bytes_written = 4 * (9 + 4 + 32 + 16)},
    {.what = "dW alone: W is not read",
     .attributes = "kernel_shape=[2,2]",
     .inputs = "f32[1,1,3,3] w:f32[1,1,2,2] f32[1,8,2,2] _ f32[1,1,2,2]",
     .outputs = "_ f32[1,1,2,2]",
     .macs = 64 + 16,
     .flops = 160 + 128,
     .bytes_read = 4 * (9 + 32 + 4),
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

constexpr OpDef kDeformableOps[] = {
    {.name = "DeformConv",
     .since = {19, 22},
     .formula = "MACs as Conv, and 2^n per sample, N * Cin * prod(out) * prod(kernel) samples",
     .infer = InferDeformConv,
     .cost = CostDeformConv,
     .cases = kDeformConvCases},
    {.name = "DeformConvGrad",
     .domain = "dlcost.training",
     .formula =
         "MACs as Conv for the columns and for dW, and 2^n per sample for dW and for the mask",
     .infer = InferDeformConvGrad,
     .cost = CostDeformConvGrad,
     .cases = kDeformConvGradCases},
    {.name = "Col2Im",
     .since = {18},
     .formula = "1 add per column element, less 1 per image element",
     .infer = InferCol2Im,
     .cost = CostCol2Im,
     .role = FusionRole::kMovement,
     .cases = kCol2ImCases},
};

}  // namespace

std::span<const OpDef> DeformableOps() { return kDeformableOps; }

}  // namespace dlcost
