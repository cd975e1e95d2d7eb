#include "estimator/regress/regroup.h"

#include <algorithm>
#include <string>
#include <vector>

#include "estimator/plan/kernel.h"
#include "estimator/report/scope.h"

namespace dlcost {
namespace {

// Traffic and time are those of kernels.
Doubt WorkAlone(Doubt doubt) {
  for (Doubt::Part* part : {&doubt.at_most, &doubt.assumed}) {
    part->bytes = Bytes();
    part->time = part->expected = Seconds();
  }
  return doubt;
}

// The traffic and time of a kernel as doubtful as its nodes.
Doubt TrafficAlone(const KernelRow& kernel, const Doubt& of_nodes) {
  const Doubt::Part part = {.bytes = kernel.sums.bytes(),
                            .time = kernel.sums.bound,
                            .expected = kernel.sums.expected.value_or(Seconds())};
  Doubt doubt;
  if (of_nodes.at_most.nodes > 0) doubt.at_most = part;
  if (of_nodes.assumed.nodes > 0) doubt.assumed = part;
  return doubt;
}

// The groups of one kind by name.
class Rows {
 public:
  explicit Rows(std::vector<GroupRow>& groups) {
    for (GroupRow& group : groups) rows_[group.name] = &group;
  }
  template <typename Use>
  void At(std::string_view name, Use use) const {
    const auto found = rows_.find(name);
    if (found != rows_.end()) use(*found->second);
  }

 private:
  std::unordered_map<std::string_view, GroupRow*> rows_;
};

// Parts of module paths that the names of groups keep: no name is cut that has fewer.
std::size_t DepthOf(const std::vector<GroupRow>& by_scope) {
  std::size_t depth = 1;
  for (const GroupRow& group : by_scope) {
    depth = std::max(
        depth, 1 + static_cast<std::size_t>(std::count(group.name.begin(), group.name.end(), '/')));
  }
  return depth;
}

}  // namespace

void Regroup(Report& report, const std::unordered_map<std::string, std::size_t>& nodes) {
  report.options.scope_depth = DepthOf(report.by_scope);
  const Rows by_op(report.by_op), by_scope(report.by_scope), by_phase(report.by_phase);
  std::vector<bool> in_attention(report.nodes.size(), false);
  const auto in_groups = [&](std::size_t n, auto use) {
    const NodeRow& node = report.nodes[n];
    by_op.At(in_attention[n] ? kAttentionRow : node.op, use);
    by_scope.At(ScopeAtDepth(node.scope, report.options.scope_depth), use);
    by_phase.At(Name(node.phase), use);
  };
  for (KernelRow& kernel : report.kernels) {
    for (const std::string& name : kernel.nodes) {
      const std::size_t n = nodes.at(name);
      if (kernel.op == kAttentionRow) in_attention[n] = true;
      Accumulate(kernel.doubt, WorkAlone(report.nodes[n].doubt()));
    }
    const Doubt traffic = TrafficAlone(kernel, kernel.doubt);
    Accumulate(kernel.doubt, traffic);
    in_groups(kernel.main, [&](GroupRow& group) {
      Accumulate(group.doubt, traffic);
      if (kernel.waits_for.empty() || !kernel.sums.expected) return;
      group.waits_for[kernel.waits_for] += *kernel.sums.expected;
    });
  }
  for (std::size_t n = 0; n < report.nodes.size(); ++n) {
    const Doubt doubt = WorkAlone(report.nodes[n].doubt());
    if (doubt.Exact()) continue;
    in_groups(n, [&](GroupRow& group) { Accumulate(group.doubt, doubt); });
  }
}

void AddCertainty(Report& report) {
  Doubt& doubt = report.certainty.doubt;
  for (const KernelRow& kernel : report.kernels) Accumulate(doubt, kernel.doubt);
  const auto nodes = [&](NodeStatus status) {
    const auto found = report.coverage.find(status);
    return found == report.coverage.end() ? 0 : found->second;
  };
  doubt.unknown = nodes(NodeStatus::kUnknown);
  doubt.bounded = nodes(NodeStatus::kBounded);
}

}  // namespace dlcost
