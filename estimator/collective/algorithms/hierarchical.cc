#include "estimator/collective/algorithms/algorithm.h"

namespace dlcost {

// As Horovod's hierarchical all-reduce: three collectives one after the other, the middle one on a
// part of the buffer per device, with all cards of a node at once.
std::vector<CollectiveRun> RunHierarchical(const CollectiveCall& call,
                                           const std::vector<GroupLevel>& levels) {
  if (call.op != CollectiveOp::kAllReduce || levels.size() < 2 ||
      call.group.size % levels[levels.size() - 2].joined != 0) {
    return {};
  }
  const std::vector<GroupLevel> inside(levels.begin(), levels.end() - 1);
  const int members = inside.back().joined;
  GroupLevel outside = levels.back();
  outside.joined = call.group.size / members;
  outside.below = 1;
  CollectiveCall part = call;
  part.group.size = members;
  part.op = CollectiveOp::kReduceScatter;
  CollectiveCall between = call;
  between.group.size = outside.joined;
  between.bytes = Bytes(CeilDiv(call.bytes.count(), members));
  const std::vector<CollectiveRun> near = RunRing(part, inside);
  std::vector<CollectiveRun> runs;
  for (const CollectiveRun& far : RunRing(between, {outside})) {
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
