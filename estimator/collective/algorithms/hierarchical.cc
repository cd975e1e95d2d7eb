#include <algorithm>

#include "estimator/collective/algorithms/algorithm.h"

namespace dlcost {

// As Horovod's hierarchical all-reduce: three collectives one after the other, the middle one on a
// part of the buffer per device, with all cards of a node at once.
std::vector<CollectiveRun> RunHierarchical(const CollectiveCall& call,
                                           const std::vector<GroupLevel>& levels) {
  // Between nodes, leaves of a network included; without one, over the farthest links.
  auto far_levels = std::find_if(levels.begin(), levels.end(),
                                 [](const GroupLevel& level) { return level.link->network; });
  if (far_levels == levels.end() && !levels.empty()) --far_levels;
  if (call.op != CollectiveOp::kAllReduce || levels.size() < 2 || far_levels == levels.begin() ||
      call.group.size % std::prev(far_levels)->joined != 0) {
    return {};
  }
  const std::vector<GroupLevel> inside(levels.begin(), far_levels);
  const int members = inside.back().joined;
  std::vector<GroupLevel> outside(far_levels, levels.end());
  for (GroupLevel& level : outside) {
    level.joined = (level.joined + members - 1) / members;
    level.below = (level.below + members - 1) / members;
  }
  CollectiveCall part = call;
  part.group.size = members;
  part.op = CollectiveOp::kReduceScatter;
  CollectiveCall between = call;
  between.group.size = call.group.size / members;
  between.bytes = Bytes(CeilDiv(call.bytes.count(), members));
  const std::vector<CollectiveRun> near = RunRing(part, inside);
  std::vector<CollectiveRun> runs;
  for (const CollectiveRun& far : RunRing(between, outside)) {
    for (const CollectiveRun& one : near) {
      if (one.protocol != far.protocol) continue;
      CollectiveRun run = one.transfer * 2.0 > far.transfer ? one : far;
      run.algorithm = "hierarchical";
      run.latency = one.latency * 2.0 + far.latency;
      run.transfer = one.transfer * 2.0 + far.transfer;
      runs.push_back(run);
    }
  }
  return runs;
}

}  // namespace dlcost
