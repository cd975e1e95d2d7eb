#include <cmath>
#include <span>

#include "estimator/collective/algorithms/algorithm.h"

namespace dlcost {

// NVLink SHARP (NCCL 2.17): a device reads the sum of its part from the switch, for which every
// device sends its whole buffer, and writes it to all through the switch: S (1 + 1 / n) leave a
// device instead of a ring's 2 S (n - 1) / n. Between nodes the parts go through trees at the same
// time. NCCL does so from three devices on.
std::vector<CollectiveRun> RunSwitchReduce(const CollectiveCall& call,
                                           const std::vector<GroupLevel>& levels) {
  const GroupLevel& near = levels.front();
  const LinkTiming& timing = near.link->timing;
  const bool trees = levels.size() > 1 && levels[1].link->network;
  if (call.op != CollectiveOp::kAllReduce || !near.link->reduces || timing.switch_share <= 0 ||
      near.joined < 3 || (levels.size() > 1 && !trees)) {
    return {};
  }
  constexpr LinkProtocol kProtocol = LinkProtocol::kSimple;  // the only one that it has
  const double bytes = call.bytes.AsDouble();
  double latency = timing.switch_start;
  SlowestStream streams;
  streams.Add(near, bytes * (1 + 1.0 / near.joined) / (near.rate * timing.switch_share));
  if (trees) {
    const GroupLevel& network = levels[1];
    const double nodes = std::ceil(static_cast<double>(call.group.size) / network.below);
    latency += 2 * std::ceil(std::log2(nodes)) * HopOf(network, kProtocol);
    for (const GroupLevel& level : std::span(levels).subspan(1)) {
      streams.Add(level, TreeBytes(call, nodes) / DataRate(level, kProtocol, level.below));
    }
  }
  return {streams.Run(trees ? "nvls_tree" : "nvls", kProtocol, latency)};
}

}  // namespace dlcost
