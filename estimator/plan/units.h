#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/infer/value_graph.h"
#include "estimator/plan/attention_pattern.h"
#include "estimator/plan/kernel.h"
#include "estimator/plan/patterns.h"

namespace dlcost {

// What fusion works on: one node that runs, or the nodes of one recognized pattern.
struct FusedUnit {
  std::vector<std::size_t> nodes;  // in execution order; the last one makes the result
  // For the label, which LabelOf makes of it: of a pattern, or the node's operator.
  std::string_view name;
  FusionRole role = FusionRole::kOpaque;
  std::size_t main = 0;                             // the node whose loop nest stands for the unit
  std::shared_ptr<const AttentionMatch> attention;  // null for everything else

  std::size_t last() const { return nodes.back(); }
};

// Calls visit(FusedUnit) in the order of their last nodes; every node that runs is in exactly one
// unit, apart from DequantizeLinear, which has none (see FuseNodes). `composed_apart`:
// PlanOptions::composed_apart.
void ForEachUnit(const ValueGraph& values, AttentionForm attention, bool composed_apart,
                 const std::function<void(FusedUnit)>& visit);

// Whether nothing speaks against a kernel that has both nodes: they stand in one graph, run equally
// often and in one phase, and a framework does not run either as an operation of its own.
bool MayShareKernel(const ValueGraph& values, std::size_t a, std::size_t b);

// "conv", "batch_normalization": an operator's name as labels write it. A label stays as it is.
std::string LabelOf(std::string_view op);

// Stored types become numbers while a kernel reads them: no kernel of its own, no traffic but the
// stored one.
bool IsDequantization(const CountedNode& counted);

}  // namespace dlcost
