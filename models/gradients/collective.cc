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

// What was split is joined again.
void AllToAllGradient(GradientContext& g) {
  std::vector<Attribute> attributes = g.node().attributes;
  for (Attribute& each : attributes) {
    each.name = each.name == "split" ? "join" : each.name == "join" ? "split" : each.name;
  }
  g.Set(0, g.w().Nodes("AllToAll", kDomain, {g.dY()}, std::move(attributes), 1)[0]);
}

constexpr GradientDef kRules[] = {
    {"AllReduce", AllReduceGradient, kDomain}, {"Replicate", ReplicateGradient, kDomain},
    {"AllGather", AllGatherGradient, kDomain}, {"ReduceScatter", ScatterGradient, kDomain},
    {"AllToAll", AllToAllGradient, kDomain},   {"Shard", ScatterGradient, kDomain}};

}  // namespace

std::span<const GradientDef> CollectiveGradients() { return kRules; }

}  // namespace dlcost
