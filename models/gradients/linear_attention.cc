#include "models/gradients/gradient.h"

namespace dlcost {
namespace {

// In one kernel, which computes the states again from what the forward pass read (query, key,
// value, state, decay, beta).
void LinearAttentionGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  if (g.forward().Int("state_window", 0) > 0) {
    throw Unresolved(
        "the derivative of linear attention that hands out several states is not written");
  }
  std::vector<TensorId> inputs;
  for (std::size_t i = 0; i < 6; ++i) inputs.push_back(g.X(i));
  inputs.push_back(g.dY(0) == kNoTensor ? w.Zeros(g.Type(), g.YShape(0)) : g.dY(0));
  inputs.push_back(g.dY(1));
  std::vector<bool> wanted;
  for (std::size_t i = 0; i < 6; ++i) wanted.push_back(g.Wants(i));
  const std::vector<TensorId> gradients =
      w.NodeWith("LinearAttentionGrad", "dlcost.training", inputs, g.node().attributes, wanted);
  for (std::size_t i = 0; i < 6; ++i) {
    if (g.Wants(i)) g.Set(i, gradients[i]);
  }
}

constexpr GradientDef kLinearAttentionGradients[] = {
    {"LinearAttention", LinearAttentionGradient, "", true},
    {"LinearAttention", LinearAttentionGradient, "com.microsoft", true}};

}  // namespace

std::span<const GradientDef> LinearAttentionGradients() { return kLinearAttentionGradients; }

}  // namespace dlcost
