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

constexpr GradientDef kRules[] = {{"MaxPool", MaxPoolGradient},
                                  {"AveragePool", AveragePoolGradient},
                                  {"GlobalAveragePool", GlobalAverageGradient},
                                  {"GlobalMaxPool", GlobalMaxGradient},
                                  {"Resize", ResizeGradient},
                                  {"Upsample", ResizeGradient}};

}  // namespace

std::span<const GradientDef> PoolingGradients() { return kRules; }

}  // namespace dlcost
