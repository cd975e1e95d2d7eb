#include "models/gradients/gradient.h"

namespace dlcost {
namespace {

// Straight through (Bengio et al., "Estimating or propagating gradients through stochastic neurons
// for conditional computation", arXiv 1308.3432): rounding has the derivative 1, and scales are not
// trained.
void StraightGradient(GradientContext& g) {
  if (g.Wants(1)) throw Unresolved("the derivative to a scale of quantization is not written");
  g.Set(0, g.dY());
}

constexpr GradientDef kQuantizationGradients[] = {
    {.name = "QuantizeLinear", .write = StraightGradient, .through_integers = true},
    {.name = "DequantizeLinear", .write = StraightGradient}};

}  // namespace

std::span<const GradientDef> QuantizationGradients() { return kQuantizationGradients; }

}  // namespace dlcost
