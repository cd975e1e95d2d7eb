#include "estimator/collective/algorithms/algorithm.h"

namespace dlcost {

// Patarasuk and Yuan, Bandwidth optimal all-reduce (2009): each of N devices sends 2 (N - 1) / N of
// the buffer. The members of a domain have a ring each through its way out, so that together they
// send at the sum of their rates; each ring leaves the domain once.
std::vector<CollectiveRun> RunRing(const CollectiveCall& call,
                                   const std::vector<GroupLevel>& levels) {
  if (call.op == CollectiveOp::kAllToAll || call.op == CollectiveOp::kSend) return {};
  std::vector<CollectiveRun> runs;
  for (const LinkProtocol protocol : kLinkProtocols) {
    const std::optional<double> start = StartOf(protocol, levels);
    if (!start) continue;
    double latency = *start;
    SlowestStream streams;
    for (const GroupLevel& level : levels) {
      latency += Passes(call.op) * CrossingsOf(level, call.group.size) * HopOf(level, protocol);
      streams.Add(level, RingBytes(call).AsDouble() / DataRate(level, protocol, level.below));
    }
    runs.push_back(streams.Run("ring", protocol, latency));
  }
  return runs;
}

}  // namespace dlcost
