#pragma once

#include <memory>
#include <string>
#include <vector>

#include "estimator/plan/attention_pattern.h"
#include "estimator/plan/kernel.h"
#include "estimator/plan/patterns.h"
#include "estimator/plan/value_graph.h"

namespace dlcost {

// What fusion works on: one node that runs, or the nodes of one recognized pattern.
struct FusedUnit {
  std::vector<std::size_t> nodes;  // in execution order; the last one makes the result
  std::string name;                // for the label
  FusionRole role = FusionRole::kOpaque;
  std::size_t main = 0;                             // the node whose loop nest stands for the unit
  std::shared_ptr<const AttentionMatch> attention;  // null for everything else

  std::size_t last() const { return nodes.back(); }
};

// Units in the order of their last nodes; every node that runs is in exactly one, apart from
// DequantizeLinear, which has none (see FuseNodes).
std::vector<FusedUnit> FindUnits(const ValueGraph& values, AttentionForm attention);

// "conv", "batch_normalization": an operator's name as labels write it.
std::string LabelOf(const std::string& op);

// Stored types become numbers while a kernel reads them: no kernel of its own, no traffic but the
// stored one.
bool IsDequantization(const CountedNode& counted);

}  // namespace dlcost
