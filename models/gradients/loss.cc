#include "models/gradients/gradient.h"

namespace dlcost {
namespace {

// softmax(scores) less one at the label, from the logarithms that the forward pass keeps.
void SoftmaxCrossEntropyGradient(GradientContext& g) {
  const TensorId logarithms = g.Saved(1);
  // Of output 1, the logarithms themselves.
  TensorId own = kNoTensor;
  if (g.dY(1) != kNoTensor) {
    own = g.w().Contrib("LogSoftmaxGrad_13", {g.dY(1), logarithms}, {IntAttribute("axis", 1)});
  }
  if (g.dY(0) == kNoTensor) {
    g.Set(0, own);
    return;
  }
  std::vector<TensorId> inputs = {g.dY(), logarithms, g.X(1)};
  if (g.HasInput(2)) inputs.push_back(g.X(2));
  std::vector<Attribute> attributes = {
      TextAttribute("reduction", g.forward().String("reduction", "mean"))};
  if (g.forward().HasAttribute("ignore_index")) {
    attributes.push_back(IntAttribute("ignore_index", g.forward().Int("ignore_index", 0)));
  }
  const TensorId gradient =
      g.w().Contrib("SoftmaxCrossEntropyLossGrad", std::move(inputs), std::move(attributes));
  g.Set(0, own == kNoTensor ? gradient : g.w().Add(gradient, own));
}

// Less the label's weight at the label, over the sum of weights where the loss is a mean.
void NegativeLogLikelihoodGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const OpContext forward = g.forward();
  const Shape x = g.XShape(), labels = g.XShape(1);
  const DType type = g.Type();
  const std::string reduction = forward.String("reduction", "mean");
  TensorId label = g.X(1), ignored = kNoTensor;
  if (forward.HasAttribute("ignore_index")) {
    const DType index = w.TypeOf(label);
    const TensorId which = w.Scalar(static_cast<double>(forward.Int("ignore_index", 0)), index);
    ignored = w.Node1("Equal", {label, which});
    label = w.Node1("Where", {ignored, w.Scalar(0, index), label});
  }
  TensorId weight = g.HasInput(2) ? w.Node1("Gather", {g.X(2), label}, {IntAttribute("axis", 0)})
                                  : w.Expand(w.Scalar(1, type), labels);
  if (ignored != kNoTensor) weight = w.Node1("Where", {ignored, w.Scalar(0, type), weight});
  TensorId share = w.Mul(g.dY(), weight);
  if (reduction == "mean") {
    std::vector<std::int64_t> all;
    for (std::size_t axis = 0; axis < labels.rank(); ++axis) {
      all.push_back(static_cast<std::int64_t>(axis));
    }
    share = w.Div(share, w.ReduceSum(weight, all));
  }
  std::vector<std::int64_t> dims = labels.dims();
  dims.insert(dims.begin() + 1, 1);
  const Shape lifted(dims);
  g.Set(0, w.Node1("ScatterElements",
                   {w.Zeros(type, x), w.Reshape(label, lifted),
                    w.Reshape(w.Node1("Neg", {share}), lifted)},
                   {IntAttribute("axis", 1)}));
}

constexpr GradientDef kLossGradients[] = {
    {"SoftmaxCrossEntropyLoss", SoftmaxCrossEntropyGradient, "", true},
    {"NegativeLogLikelihoodLoss", NegativeLogLikelihoodGradient}};

}  // namespace

std::span<const GradientDef> LossGradients() { return kLossGradients; }

}  // namespace dlcost
