#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimator/regress/metrics.h"
#include "estimator/report/report.h"

namespace dlcost {

enum class ChangeKind { kInput, kPrecision, kChanged, kAdded, kRemoved, kReplaced, kMoved };
std::string_view Name(ChangeKind kind);  // "input", "precision", "changed", ...

// What one node costs more than before: the later node, or the earlier one where there is none.
struct NodeShare {
  const NodeRow* node = nullptr;
  Cost cost;
};

// One thing that somebody did to the model, and what came of it.
struct Change {
  ChangeKind kind = ChangeKind::kChanged;
  std::string where;  // the node, or the module or nodes that share the change
  std::string what;   // "strides 1,1 -> 2,2", "Conv 3x3, 64 -> 64 channels added"
  std::vector<std::string> before, after;  // the nodes, by name, in order of execution
  Cost cost;                               // difference over these nodes
  std::int64_t followers = 0;              // nodes that only see other shapes because of it
  std::int64_t lost = 0;                   // followers whose cost is not known any more
  bool told_elsewhere = false;  // the nodes changed otherwise, too: their cost is with that change
  Cost follower_cost;           // of these, and of nodes that are fused otherwise now
  std::vector<NodeShare> shares;  // of both costs
};

// A row of the table by operator; none on the side that does not have the operator.
struct GroupDiff {
  std::string name;
  std::optional<Sums> before, after;
};

// The difference between two reports. Refers to them: they must outlive it.
struct ReportDiff {
  const Report* before = nullptr;
  const Report* after = nullptr;
  std::vector<Change> changes;  // the largest effect first
  // What no change explains: the same nodes under other conditions. With the changes, it adds up to
  // the difference of the totals.
  Cost rest;
  std::vector<GroupDiff> by_op;  // in the order of the later report
  std::int64_t same = 0;         // nodes with a partner and no difference of their own or inherited
  std::int64_t renamed = 0;      // nodes with a partner of another name
  // What the reports do not have in common besides the graph, as "device: a100 before, h100 after":
  // device, precision and conventions; sizes and operator set.
  std::vector<std::string> conditions, model_facts;
  // What of either side is not exact, so that the difference is not.
  std::vector<std::string> certainty;
  // What a side does not tell that an earlier release wrote.
  std::vector<std::string> untold;

  std::vector<std::string> Notes() const;  // all four
};

// Nodes are matched by structure, then by name. Nodes known before the run (shape arithmetic,
// weights in the making) are not compared.
ReportDiff DiffReports(const Report& before, const Report& after);

}  // namespace dlcost
