#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "estimator/infer/value_graph.h"
#include "estimator/plan/attention_pattern.h"
#include "estimator/plan/kernel.h"
#include "estimator/plan/patterns.h"

namespace dlcost {

// Nodes that run as one kernel, and what was recognized in them.
struct Group {
  std::vector<std::size_t> nodes;  // in execution order once FuseNodes is done
  std::size_t main = 0;            // shapes the kernel
  KernelKind kind = KernelKind::kOpaque;
  // For the label, in order, as FusedUnit::name: "Conv", "BatchNormalization", "gelu".
  std::vector<std::string_view> parts;
  std::vector<std::size_t> stacked;  // further products of main's operand, their weights stacked
  std::vector<std::size_t> folded;   // nodes that vanish into weights or stored types
  std::shared_ptr<const AttentionMatch> attention;  // null for everything else
};

struct Grouping {
  std::vector<Group> groups;          // in execution order (of their last nodes)
  std::vector<std::size_t> group_of;  // per node
};

// Every node a group of its own.
Grouping SeparateNodes(const ValueGraph& values);

// Groups that a fusing compiler makes, after NamedPatterns() and those of FusionRules() that are in
// `fuses`. A node joins the group of a value that it reads only while nothing outside that group
// has read from it, which keeps the groups free of cycles. Views and what is known before the run
// stay with the group that makes their input, or in one group without launches. Linear in nodes and
// edges.
Grouping FuseNodes(const ValueGraph& values, AttentionForm attention, FusionSet fuses,
                   bool composed_apart = false);

}  // namespace dlcost
