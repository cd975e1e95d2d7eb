#include "estimator/collective/algorithms/algorithm.h"

namespace dlcost {

// Messages from device to device, as ncclSend and ncclRecv in a group. In an all-to-all every
// device sends 1 / N to each: over a level go the parts for members beyond the level below. PCIe
// trees carry one stream at a time through the host. LL128 is for rings and trees alone.
std::vector<CollectiveRun> RunPairwise(const CollectiveCall& call,
                                       const std::vector<GroupLevel>& levels) {
  const bool all = call.op == CollectiveOp::kAllToAll;
  if (!all && call.op != CollectiveOp::kSend) return {};
  const double size = call.group.size;
  std::vector<CollectiveRun> runs;
  for (const LinkProtocol protocol : {LinkProtocol::kLL, LinkProtocol::kSimple}) {
    const std::optional<double> start = StartOf(protocol, levels);
    if (!start) continue;
    double latency = *start;
    SlowestStream streams;
    if (!all) {
      streams.Add(levels.back(), call.bytes.AsDouble() / DataRate(levels.back(), protocol, 1));
    } else {
      for (const GroupLevel& level : levels) {
        latency += (level.joined - level.below) * level.link->timing.peer;
        const bool tree = level.link->shape == LinkShape::kTree;
        const double part = call.bytes.AsDouble() * (tree ? size - 1 : size - level.below) / size;
        streams.Add(level, part / DataRate(level, protocol, tree ? level.below : 1));
      }
    }
    runs.push_back(streams.Run("pairwise", protocol, latency));
  }
  return runs;
}

}  // namespace dlcost
