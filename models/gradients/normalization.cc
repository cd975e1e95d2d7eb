#include <utility>

#include "models/gradients/gradient.h"

namespace dlcost {
namespace {

constexpr std::string_view kTraining = "dlcost.training";

// The counted gradients of ONNX Runtime read the statistics that the forward pass saved: of them,
// output 0 is dX, 1 the scale's gradient, 2 the shift's.

void SetAll(GradientContext& g, const std::vector<TensorId>& gradients) {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (g.Wants(i)) g.Set(i, gradients[i]);
  }
}

// What the statistics that the file reads (m = mean(x), r = 1 / deviation) hand back: dm / n and
// -dr r^3 (x - m) / n.
TensorId OfStatistics(GradientContext& g, TensorId mean, TensorId inverse) {
  NodeWriter& w = g.w();
  const Count rows = w.ShapeOf(mean).Elements();
  const double share = rows > Count(0) ? rows.AsDouble() / g.XShape().Elements().AsDouble() : 0;
  TensorId sum = kNoTensor;
  if (g.dY(1) != kNoTensor) sum = w.Expand(w.Scale(g.dY(1), share), g.XShape());
  if (g.dY(2) != kNoTensor) {
    const TensorId cube = w.Mul(w.Mul(inverse, inverse), inverse);
    const TensorId slope = w.Scale(w.Mul(g.dY(2), cube), -share);
    const TensorId part = w.Mul(w.Sub(g.X(0), mean), slope);
    sum = sum == kNoTensor ? part : w.Add(sum, part);
  }
  return sum;
}

void LayerNormGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const TensorId mean = g.Saved(1), inverse = g.Saved(2);
  const TensorId statistics = OfStatistics(g, mean, inverse);
  if (statistics != kNoTensor && g.Type() != w.TypeOf(mean)) {
    throw Unresolved("the derivative of statistics of another type than the data is not written");
  }
  const std::size_t outputs = g.Wants(2) ? 3 : g.Wants(1) ? 2 : 1;
  const TensorId dy = g.dY() == kNoTensor ? w.Zeros(g.Type(), g.XShape()) : g.dY();
  std::vector<TensorId> gradients =
      w.Nodes("LayerNormalizationGrad", "com.microsoft", {dy, g.X(0), g.X(1), mean, inverse},
              {IntAttribute("axis", g.forward().Int("axis", -1))}, outputs);
  if (statistics != kNoTensor && g.Wants(0)) gradients[0] = w.Add(gradients[0], statistics);
  SetAll(g, gradients);
}

void RmsNormGradient(GradientContext& g) {
  const TensorId inverse = g.Saved(1);
  SetAll(g, g.w().Nodes("SimplifiedLayerNormalizationGrad", "com.microsoft",
                        {g.dY(), g.X(0), g.X(1), inverse},
                        {IntAttribute("axis", g.forward().Int("axis", -1))}, g.Wants(1) ? 2 : 1));
}

// In training (BatchNormInternal): outputs 3 and 4 are the statistics of the batch.
void BatchNormGradient(GradientContext& g) {
  const TensorId mean = g.Saved(3), inverse = g.Saved(4);
  const std::size_t outputs = g.Wants(2) ? 3 : g.Wants(1) ? 2 : 1;
  SetAll(g, g.w().Nodes("BatchNormalizationGrad", "com.microsoft",
                        {g.dY(), g.X(0), g.X(1), mean, inverse},
                        {RealAttribute("epsilon", g.forward().Float("epsilon", 1e-5))}, outputs));
}

// Groups of an [N, C, d...] tensor, each with its own statistics, which are computed again. With
// h = (x - mean) / deviation and e = scale dy: dx = (e - mean(e) - h mean(e h)) / deviation.
void GroupedGradient(GradientContext& g, std::int64_t groups) {
  NodeWriter& w = g.w();
  const Shape shape = g.XShape(), scale = g.XShape(1);
  const Count rows = Count(shape[0]) * groups;
  const Count reduce = rows > Count(0) ? shape.Elements() / rows : Count(0);
  const Shape folded = {rows.value(), reduce.value()};
  const DType type = g.Type();
  const double share = reduce > Count(0) ? 1 / reduce.AsDouble() : 0;
  const auto mean = [&](TensorId x) { return w.Scale(w.ReduceSum(x, {1}), share); };
  const TensorId x = w.Reshape(g.X(0), folded);
  const TensorId centred = w.Sub(x, mean(x));
  const TensorId variance = mean(w.Mul(centred, centred));
  const double epsilon = g.forward().Float("epsilon", 1e-5);
  const TensorId inverse =
      w.Node1("Reciprocal", {w.Node1("Sqrt", {w.Add(variance, w.Scalar(epsilon, type))})});
  const TensorId h = w.Mul(centred, inverse);
  // One number per channel (or, in version 18, per group) beside the data: axes [N, channels,
  // rest].
  const std::int64_t channels = scale[0];
  const Count rest = Count(shape[0]) * channels > Count(0)
                         ? shape.Elements() / (Count(shape[0]) * channels)
                         : Count(0);
  const Shape by_channel = {shape[0], channels, rest.value()};
  const TensorId dy = w.Reshape(g.dY(), by_channel);
  if (g.Wants(0)) {
    const TensorId factors = w.Reshape(w.InType(g.X(1), type), {channels, 1});
    const TensorId e = w.Reshape(w.Mul(dy, factors), folded);
    const TensorId inner = w.Sub(w.Sub(e, mean(e)), w.Mul(h, mean(w.Mul(e, h))));
    g.Set(0, w.Reshape(w.Mul(inner, inverse), shape));
  }
  if (g.Wants(1)) {
    const TensorId product = w.Mul(dy, w.Reshape(h, by_channel));
    const TensorId sum = w.Reshape(w.ReduceSum(product, {0, 2}), scale);
    g.Set(1, w.InType(sum, w.TypeOf(g.X(1))));
  }
  if (g.Wants(2)) {
    const TensorId sum = w.Reshape(w.ReduceSum(dy, {0, 2}), scale);
    g.Set(2, w.InType(sum, w.TypeOf(g.X(2))));
  }
}

void InstanceNormGradient(GradientContext& g) { GroupedGradient(g, g.XShape()[1]); }
// One call back that reads what one there keeps, x and the statistics, as PyTorch's
// native_group_norm does; with a scale per group (version 18) in pieces.
void GroupNormGradient(GradientContext& g) {
  const std::int64_t groups = g.forward().RequiredInt("num_groups");
  if (g.XShape(1).Elements() != Count(g.XShape()[1])) return GroupedGradient(g, groups);
  g.Rename("GroupNormInternal", kTraining);
  const TensorId mean = g.Saved(1), inverse = g.Saved(2);
  const std::size_t outputs = g.Wants(2) ? 3 : g.Wants(1) ? 2 : 1;
  SetAll(g, g.w().Nodes("GroupNormGrad", kTraining, {g.dY(), g.X(0), g.X(1), mean, inverse},
                        {IntAttribute("num_groups", groups)}, outputs));
}

// y = x / n with n = sum |x|^p ^ 1/p: (dy - dn/dx sum(dy y)) / n, where dn/dx is the sign of x (p =
// 1) or y (p = 2).
void LpNormGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const bool first = g.forward().Int("p", 2) == 1;
  const std::int64_t axis = g.forward().Int("axis", -1);
  const TensorId norm = w.Node1(first ? "ReduceL1" : "ReduceL2", {g.X(), w.Ints({axis})});
  const TensorId sum = w.ReduceSum(w.Mul(g.dY(), g.Y()), {axis});
  const TensorId slope = first ? w.Node1("Sign", {g.X()}) : g.Y();
  g.Set(0, w.Div(w.Sub(g.dY(), w.Mul(slope, sum)), norm));
}

// y = (x - mean) / deviation: (dy - mean(dy) - y mean(dy y)) / deviation.
void MeanVarianceGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const Shape shape = g.XShape();
  std::vector<std::int64_t> axes = g.forward().Ints("axes", {0, 2, 3});
  Count reduced = 1;
  for (std::int64_t& axis : axes) {
    axis = static_cast<std::int64_t>(NormalizeAxis(axis, shape.rank()));
    reduced *= shape[static_cast<std::size_t>(axis)];
  }
  const double share = reduced > Count(0) ? 1 / reduced.AsDouble() : 0;
  const auto mean = [&](TensorId x) { return w.Scale(w.ReduceSum(x, axes), share); };
  const TensorId centred = w.Sub(g.X(), mean(g.X()));
  const TensorId deviation = w.Node1("Sqrt", {mean(w.Mul(centred, centred))});
  const TensorId along = w.Mul(g.Y(), mean(w.Mul(g.dY(), g.Y())));
  g.Set(0, w.Div(w.Sub(w.Sub(g.dY(), mean(g.dY())), along), deviation));
}

// sum + bias of the input and the skip, normalized; output 3 is that sum.
void SkipLayerNormGradient(GradientContext& g) {
  const TensorId mean = g.Saved(1), inverse = g.Saved(2), sum = g.Saved(3);
  const bool shifts = g.Wants(3);
  const std::vector<TensorId> gradients =
      g.w().Nodes("LayerNormalizationGrad", "com.microsoft",
                  {g.dY() == kNoTensor ? g.w().Zeros(g.Type(), g.XShape()) : g.dY(), sum, g.X(2),
                   mean, inverse},
                  {IntAttribute("axis", -1)},
                  shifts       ? 3
                  : g.Wants(2) ? 2
                               : 1);
  TensorId data = gradients[0];
  if (g.dY(3) != kNoTensor) data = g.w().Add(data, g.dY(3));
  for (const std::size_t i : {0U, 1U, 4U}) {
    if (g.Wants(i)) g.Set(i, data);
  }
  if (g.Wants(2)) g.Set(2, gradients[1]);
  if (shifts) g.Set(3, gradients[2]);
}

// Over channels, the mean of x around each of them, zeros beyond the first and the last; `mirrored`
// looks as far back as the other forward.
TensorId MeanOverNeighbours(NodeWriter& w, TensorId x, std::int64_t size, bool mirrored) {
  const Shape shape = w.ShapeOf(x);
  const Count rest = shape.Product(2, shape.rank());
  std::int64_t before = (size - 1) / 2, behind = size - 1 - before;
  if (mirrored) std::swap(before, behind);
  const TensorId channels = w.Reshape(x, {shape[0], 1, shape[1], rest.value()});
  return w.Reshape(w.Node1("AveragePool", {channels},
                           {IntsAttribute("kernel_shape", {size, 1}),
                            IntsAttribute("pads", {before, 0, behind, 0}),
                            IntAttribute("count_include_pad", 1)}),
                   shape);
}

// y = x s^-b with s = bias + alpha mean(x^2) over neighbours: dx = dy s^-b - 2 alpha b x mean(dy y
// / s).
void LrnGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const OpContext forward = g.forward();
  const std::int64_t size = forward.RequiredInt("size");
  const double alpha = forward.Float("alpha", 1e-4), beta = forward.Float("beta", 0.75);
  const TensorId squares = MeanOverNeighbours(w, w.Mul(g.X(), g.X()), size, false);
  const TensorId s = w.Add(w.Scale(squares, alpha), w.Scalar(forward.Float("bias", 1), g.Type()));
  const TensorId power = w.Node1("Pow", {s, w.Scalar(-beta, g.Type())});
  const TensorId around = MeanOverNeighbours(w, w.Div(w.Mul(g.dY(), g.Y()), s), size, true);
  g.Set(0, w.Sub(w.Mul(g.dY(), power), w.Scale(w.Mul(g.X(), around), 2 * alpha * beta)));
}

constexpr GradientDef kNormalizationGradients[] = {
    {"LayerNormalization", LayerNormGradient, "", true},
    {"SimplifiedLayerNormalization", RmsNormGradient},
    {"BatchNormInternal", BatchNormGradient, kMicrosoft},
    {"InstanceNormalization", InstanceNormGradient},
    {"GroupNormalization", GroupNormGradient},
    {"GroupNormInternal", GroupNormGradient, kTraining},
    {"LRN", LrnGradient},
    {"LpNormalization", LpNormGradient},
    {"MeanVarianceNormalization", MeanVarianceGradient},
    {"SkipLayerNormalization", SkipLayerNormGradient, kMicrosoft, true},
};

}  // namespace

std::span<const GradientDef> NormalizationGradients() { return kNormalizationGradients; }

}  // namespace dlcost
