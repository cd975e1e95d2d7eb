#include "models/gradients/gradient.h"

namespace dlcost {
namespace {

// softmax(scores) less one at the label, from the logarithms that the forward pass keeps.
void SoftmaxCrossEntropyGradient(GradientContext& g) {
  const TensorId logarithms = g.Saved(1);
  std::vector<TensorId> inputs = {g.dY(), logarithms, g.X(1)};
  if (g.HasInput(2)) inputs.push_back(g.X(2));
  std::vector<Attribute> attributes = {
      TextAttribute("reduction", g.forward().String("reduction", "mean"))};
  if (g.forward().HasAttribute("ignore_index")) {
    attributes.push_back(IntAttribute("ignore_index", g.forward().Int("ignore_index", 0)));
  }
  g.Set(0, g.w().Contrib("SoftmaxCrossEntropyLossGrad", std::move(inputs), std::move(attributes)));
}

constexpr GradientDef kRules[] = {{"SoftmaxCrossEntropyLoss", SoftmaxCrossEntropyGradient}};

}  // namespace

std::span<const GradientDef> LossGradients() { return kRules; }

}  // namespace dlcost
