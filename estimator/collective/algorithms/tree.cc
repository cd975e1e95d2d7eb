#include <cmath>

#include "estimator/collective/algorithms/algorithm.h"

namespace dlcost {

double TreeBytes(const CollectiveCall& call, double nodes) {
  return (nodes <= 2 ? 1 : 2) * call.bytes.AsDouble();
}

// Double binary trees (Sanders, Speck, Träff 2009; NCCL 2.4): a node is a leaf of one tree and
// inside the other, and sends twice the buffer in all (of two nodes, once), at the rate of all of
// its cards; up and down take log2 steps instead of a ring's N.
std::vector<CollectiveRun> RunTree(const CollectiveCall& call,
                                   const std::vector<GroupLevel>& levels) {
  if (call.op != CollectiveOp::kAllReduce || !levels.back().link->network) return {};
  const GroupLevel& network = FirstNetwork(levels);
  const double nodes = std::ceil(static_cast<double>(call.group.size) / network.below);
  const double sent = TreeBytes(call, nodes);
  std::vector<CollectiveRun> runs;
  for (const LinkProtocol protocol : kLinkProtocols) {
    const std::optional<double> start = StartOf(protocol, levels);
    if (!start) continue;
    double latency = *start + 2 * std::ceil(std::log2(nodes)) * HopOf(network, protocol);
    SlowestStream streams;
    for (const GroupLevel& level : levels) {
      if (!level.link->network) latency += 2 * (level.joined - 1) * HopOf(level, protocol);
      const double bytes = level.link->network ? sent : 2 * call.bytes.AsDouble();
      streams.Add(level, bytes / DataRate(level, protocol, level.below));
    }
    runs.push_back(streams.Run("tree", protocol, latency));
  }
  return runs;
}

}  // namespace dlcost
