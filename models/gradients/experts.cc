#include "models/gradients/gradient.h"

namespace dlcost {
namespace {

// Rows go back to their tokens, and gradients of sums to their rows. Which expert a token meets has
// no gradient; how much of it counts has.

constexpr std::string_view kTrainingDomain = "dlcost.training";

void DispatchGradient(GradientContext& g) {
  g.Set(0, g.w().Nodes("CombineTokens", kTrainingDomain, {g.dY(), g.X(1)}, {}, 1)[0]);
}

void CombineGradient(GradientContext& g) {
  if (!g.HasInput(2)) {
    const Shape rows = g.XShape(0);
    g.Set(0, g.w().Nodes("DispatchTokens", kTrainingDomain, {g.dY(), g.X(1)},
                         {IntAttribute("experts", rows[0]), IntAttribute("rows", rows[1])}, 1)[0]);
    return;
  }
  const std::vector<TensorId> both =
      g.w().Nodes("CombineTokensGrad", kTrainingDomain, {g.dY(), g.X(0), g.X(1), g.X(2)}, {}, 2);
  if (g.Wants(0)) g.Set(0, both[0]);
  if (g.Wants(2)) g.Set(2, both[1]);
}

constexpr GradientDef kExpertGradients[] = {{"DispatchTokens", DispatchGradient, kTrainingDomain},
                                            {"CombineTokens", CombineGradient, kTrainingDomain}};

}  // namespace

std::span<const GradientDef> ExpertGradients() { return kExpertGradients; }

}  // namespace dlcost
