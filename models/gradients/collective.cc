#include "models/gradients/gradient.h"

namespace dlcost {
namespace {

// The gradient of an exchange among devices is the exchange the other way round: a sum for all is
// fed by what each has, and the sum of all is what a value for all gets back (the f and g of
// Shoeybi et al., Megatron-LM, 2019).

constexpr std::string_view kParallelDomain = "dlcost.parallel";

void Back(GradientContext& g, std::string_view op) {
  g.Set(0, g.w().Nodes(op, kParallelDomain, {g.dY()}, g.node().attributes, 1)[0]);
}

void AllReduceGradient(GradientContext& g) { g.Set(0, g.dY()); }
void ReplicateGradient(GradientContext& g) { Back(g, "AllReduce"); }
void AllGatherGradient(GradientContext& g) { Back(g, "ReduceScatter"); }
void GatheredGradient(GradientContext& g) { Back(g, "AllGather"); }

// What was split is joined again.
void AllToAllGradient(GradientContext& g) {
  std::vector<Attribute> attributes = g.node().attributes;
  for (Attribute& each : attributes) {
    each.name = each.name == "split" ? "join" : each.name == "join" ? "split" : each.name;
  }
  g.Set(0, g.w().Nodes("AllToAll", kParallelDomain, {g.dY()}, std::move(attributes), 1)[0]);
}

constexpr GradientDef kCollectiveGradients[] = {
    {"AllReduce", AllReduceGradient, kParallelDomain},
    {"Replicate", ReplicateGradient, kParallelDomain},
    {"AllGather", AllGatherGradient, kParallelDomain},
    {"ReduceScatter", GatheredGradient, kParallelDomain},
    {"AllToAll", AllToAllGradient, kParallelDomain},
    {"Shard", GatheredGradient, kParallelDomain}};

}  // namespace

std::span<const GradientDef> CollectiveGradients() { return kCollectiveGradients; }

}  // namespace dlcost
