#include "models/gradients/gradient.h"
#include "models/gradients/transform.h"

namespace dlcost {
namespace {

constexpr int kAxisIsAnInput = 20;  // the opset in which DFT's axis became one

// Elements [0, length) of an axis, zeros behind where it is shorter.
TensorId CutOrPadded(NodeWriter& w, TensorId x, std::size_t axis, std::int64_t length) {
  const Shape shape = w.ShapeOf(x);
  if (shape[axis] > length) return w.Slice(x, static_cast<std::int64_t>(axis), 0, length);
  if (shape[axis] == length) return x;
  std::vector<std::int64_t> pads(2 * shape.rank(), 0);
  pads[axis + shape.rank()] = length - shape[axis];
  return w.Node1("Pad", {x, w.Ints(pads)});
}

// y = F x over one axis, cut to half where that tells the rest. A transform is linear and
// symmetric: the gradient is the conjugated transform of dy, which is n times the inverse one.
void DftGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const OpContext forward = g.forward();
  const Shape x = g.XShape(), y = g.YShape();
  const auto number = [&](int i) {
    const std::vector<std::int64_t> numbers = forward.InputInts(i);
    if (numbers.size() != 1) throw Unresolved("input " + std::to_string(i) + " is not one number");
    return numbers[0];
  };
  std::int64_t named = g.since() < kAxisIsAnInput ? forward.Int("axis", 1) : -2;
  if (g.since() >= kAxisIsAnInput && g.HasInput(2)) named = number(2);
  const std::size_t axis = NormalizeAxis(named, x.rank());
  const bool inverse = forward.Int("inverse", 0) != 0, onesided = forward.Int("onesided", 0) != 0;
  if (inverse && onesided) {
    throw Unresolved("the derivative of an inverse transform to real numbers is not written");
  }
  const std::int64_t length = g.HasInput(1) ? number(1) : x[axis];
  const double points = static_cast<double>(length);
  const TensorId dy = CutOrPadded(w, g.dY(), axis, length);
  TensorId gradient =
      w.Scale(WriteTransform(w, dy, static_cast<std::int64_t>(axis), false, !inverse),
              inverse ? 1 / points : points);
  if (x.At(-1) == 1 && y.At(-1) == 2) gradient = w.Slice(gradient, x.Rank() - 1, 0, 1);
  g.Set(0, CutOrPadded(w, gradient, axis, x[axis]));
}

constexpr GradientDef kSignalGradients[] = {{"DFT", DftGradient}};

}  // namespace

TensorId WriteTransform(NodeWriter& w, TensorId x, std::int64_t axis, bool onesided, bool inverse) {
  std::vector<Attribute> attributes = {IntAttribute("onesided", onesided ? 1 : 0),
                                       IntAttribute("inverse", inverse ? 1 : 0)};
  std::vector<TensorId> inputs = {x};
  if (w.opset() < kAxisIsAnInput) {
    attributes.push_back(IntAttribute("axis", axis));
  } else {
    inputs.insert(inputs.end(), {kNoTensor, w.Int(axis)});
  }
  return w.Node1("DFT", inputs, attributes);
}

std::span<const GradientDef> SignalGradients() { return kSignalGradients; }

}  // namespace dlcost
