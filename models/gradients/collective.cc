#include "models/gradients/gradient.h"

namespace dlcost {
namespace {

// The gradient of an exchange among devices is the exchange the other way round: a sum for all is
// fed by what each has, and the sum of all is what a value for all gets back (the f and g of
// Shoeybi et al., Megatron-LM, 2019).

constexpr std::string_view kDomain = "dlcost.parallel";

void Back(GradientContext& g, std::string_view op) {
  g.Set(0, g.w().Nodes(op, kDomain, {g.dY()}, g.node().attributes, 1)[0]);
}

void AllReduceGradient(GradientContext& g) { g.Set(0, g.dY()); }
void ReplicateGradient(GradientContext& g) { Back(g, "AllReduce"); }
void AllGatherGradient(GradientContext& g) { Back(g, "ReduceScatter"); }
void ScatterGradient(GradientContext& g) { Back(g, "AllGather"); }

constexpr GradientDef kRules[] = {{"AllReduce", AllReduceGradient, kDomain},
                                  {"Replicate", ReplicateGradient, kDomain},
                                  {"AllGather", AllGatherGradient, kDomain},
                                  {"ReduceScatter", ScatterGradient, kDomain},
                                  {"Shard", ScatterGradient, kDomain}};

}  // namespace

std::span<const GradientDef> CollectiveGradients() { return kRules; }

}  // namespace dlcost
