#include "models/gradients/gradient.h"
#include "models/operators/window.h"

namespace dlcost {
namespace {

std::vector<Attribute> WindowAttributes(const Window& window, const OpContext& forward) {
  std::vector<std::int64_t> pads = window.pad_begin;
  pads.insert(pads.end(), window.pad_end.begin(), window.pad_end.end());
  return {IntsAttribute("kernel_shape", window.kernel),
          IntsAttribute("strides", window.stride),
          IntsAttribute("dilations", window.dilation),
          IntsAttribute("pads", pads),
          IntAttribute("ceil_mode", forward.Int("ceil_mode", 0)),
          IntAttribute("count_include_pad", forward.Int("count_include_pad", 0))};
}

Window WindowOf(const OpContext& forward) {
  return ForwardWindow(forward, forward.RequiredInts("kernel_shape"),
                       forward.Int("ceil_mode", 0) != 0);
}

// Back to where the largest element was: the forward pass keeps its index.
void MaxPoolGradient(GradientContext& g) {
  const TensorId indices = g.Saved(1);
  const Shape shape = g.XShape();
  const OpContext forward = g.forward();
  g.Set(0, g.w().Contrib("MaxPoolGrad", {g.dY(), indices},
                         WindowAttributes(WindowOf(forward), forward), &shape));
}

void AveragePoolGradient(GradientContext& g) {
  const Shape shape = g.XShape();
  const OpContext forward = g.forward();
  g.Set(0, g.w().Contrib("AveragePoolGrad", {g.dY()}, WindowAttributes(WindowOf(forward), forward),
                         &shape));
}

void GlobalAverageGradient(GradientContext& g) {
  const Shape shape = g.XShape();
  const Count window = shape.Product(2, shape.rank());
  const double share = window > Count(0) ? 1 / window.AsDouble() : 0;
  g.Set(0, g.w().Expand(g.w().Scale(g.dY(), share), shape));
}

// |x|^(p - 1) with the sign of x, as often as p = 2 leaves x.
TensorId SignedPower(GradientContext& g, std::int64_t p) {
  NodeWriter& w = g.w();
  if (p == 2) return g.X();
  const TensorId sign = w.Node1("Sign", {g.X()});
  if (p == 1) return sign;
  return w.Mul(sign, w.Node1("Pow", {w.Node1("Abs", {g.X()}),
                                     w.Scalar(static_cast<double>(p - 1), g.Type())}));
}

// dy / y^(p - 1): with SignedPower the derivative of sum |x|^p ^ 1/p.
TensorId OverPower(GradientContext& g, std::int64_t p) {
  NodeWriter& w = g.w();
  if (p == 1) return g.dY();
  const TensorId power =
      p == 2 ? g.Y() : w.Node1("Pow", {g.Y(), w.Scalar(static_cast<double>(p - 1), g.Type())});
  return w.Div(g.dY(), power);
}

// A window's share goes to all of its elements: that of an average, as often as it has elements.
void LpPoolGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const Shape shape = g.XShape();
  const OpContext forward = g.forward();
  const std::int64_t p = forward.Int("p", 2);
  const Window window = WindowOf(forward);
  Count elements = 1;
  for (const std::int64_t extent : window.kernel) elements *= extent;
  std::vector<Attribute> attributes = WindowAttributes(window, forward);
  attributes.back() = IntAttribute("count_include_pad", 1);
  const TensorId spread =
      w.Contrib("AveragePoolGrad", {w.Scale(OverPower(g, p), elements.AsDouble())},
                std::move(attributes), &shape);
  g.Set(0, w.Mul(SignedPower(g, p), spread));
}

void GlobalLpGradient(GradientContext& g) {
  const std::int64_t p = g.forward().Int("p", 2);
  g.Set(0, g.w().Mul(SignedPower(g, p), OverPower(g, p)));
}

// Each number went to the place, in the whole tensor, that its index says.
void MaxUnpoolGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const TensorId flat = w.Reshape(g.dY(), {g.YShape().Elements().value()});
  g.Set(0, w.Node1("Gather", {flat, g.X(1)}, {IntAttribute("axis", 0)}));
}

void GlobalMaxGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  g.Set(0, w.Node1("Where", {w.Node1("Equal", {g.X(), g.Y()}), g.dY(), w.Scalar(0, g.Type())}));
}

// Resize, and Upsample before it.
void ResizeGradient(GradientContext& g) {
  const OpContext forward = g.forward();
  if (forward.Int("antialias", 0) != 0) {
    throw Unresolved("the derivative of resizing with a filter against aliasing is not written");
  }
  const Shape x = g.XShape(), y = g.YShape();
  std::int64_t axes = 0;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) axes += x[axis] != y[axis] ? 1 : 0;
  if (axes == 0) {
    g.Set(0, g.dY());
    return;
  }
  std::vector<Attribute> attributes = {TextAttribute("mode", forward.String("mode", "nearest")),
                                       IntAttribute("resized_axes", axes)};
  if (forward.HasAttribute("coordinate_transformation_mode")) {
    attributes.push_back(
        TextAttribute("coordinate_transformation_mode",
                      forward.String("coordinate_transformation_mode", "half_pixel")));
  }
  g.Set(0, g.w().Contrib("ResizeGrad", {g.dY()}, std::move(attributes), &x));
}

// Data takes what its samples got; the grid what data changes by along each axis.
void GridSampleGradient(GradientContext& g) {
  const std::vector<TensorId> gradients =
      g.w().Nodes("GridSampleGrad", "dlcost.training", {g.dY(), g.X(0), g.X(1)},
                  g.node().attributes, g.Wants(1) ? 2 : 1);
  if (g.Wants(0)) g.Set(0, gradients[0]);
  if (g.Wants(1)) g.Set(1, gradients[1]);
}

// Regions are where they are: nothing flows back to them, as in torchvision.
void RoiAlignGradient(GradientContext& g) {
  if (g.forward().String("mode", "avg") != "avg") {
    throw Unresolved("the derivative of the largest samples of regions is not written");
  }
  if (!g.Wants(0)) return;
  const Shape shape = g.XShape();
  std::vector<Attribute> attributes = g.node().attributes;
  const bool half = g.since() >= 16;
  if (!g.forward().HasAttribute("coordinate_transformation_mode")) {
    attributes.push_back(
        TextAttribute("coordinate_transformation_mode", half ? "half_pixel" : "output_half_pixel"));
  }
  g.Set(0, g.w().Nodes("RoiAlignGrad", "dlcost.training", {g.dY(), g.X(1), g.X(2)},
                       std::move(attributes), 1, &shape)[0]);
}

constexpr GradientDef kPoolingGradients[] = {{"MaxPool", MaxPoolGradient},
                                             {"AveragePool", AveragePoolGradient},
                                             {"GlobalAveragePool", GlobalAverageGradient},
                                             {"GlobalMaxPool", GlobalMaxGradient},
                                             {"LpPool", LpPoolGradient},
                                             {"GlobalLpPool", GlobalLpGradient},
                                             {"MaxUnpool", MaxUnpoolGradient},
                                             {"GridSample", GridSampleGradient},
                                             {"GridSample", GridSampleGradient, "com.microsoft"},
                                             {"RoiAlign", RoiAlignGradient},
                                             {"Resize", ResizeGradient},
                                             {"Upsample", ResizeGradient}};

}  // namespace

std::span<const GradientDef> PoolingGradients() { return kPoolingGradients; }

}  // namespace dlcost
