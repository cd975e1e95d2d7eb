#include <cmath>

#include "estimator/collective/algorithms/algorithm.h"

namespace dlcost {

// A slice of a torus as nearly a cube as its size allows: the buffer is split among the axes, whose
// rings run at once over all links of a device, axis after axis (Austin et al., How to Scale Your
// Model, 2025): the bytes of a ring over the sum of the links, and as many steps as the axes are
// long. An all-to-all passes a quarter of each axis on the average.
std::vector<CollectiveRun> RunTorus(const CollectiveCall& call,
                                    const std::vector<GroupLevel>& levels) {
  const GroupLevel& level = levels.front();
  if (levels.size() != 1 || level.link->shape != LinkShape::kTorus) return {};
  constexpr double kAxes = 3;
  const double side = std::cbrt(call.group.size);
  const double steps =
      call.op == CollectiveOp::kSend ? 1 : std::ceil(kAxes * (side - 1)) * Passes(call.op);
  std::vector<CollectiveRun> runs;
  for (const LinkProtocol protocol : kLinkProtocols) {
    const std::optional<double> start = StartOf(protocol, levels);
    if (!start) continue;
    const double detour = call.op == CollectiveOp::kAllToAll ? std::max(1.0, side / 4 * kAxes) : 1;
    SlowestStream streams;
    streams.Add(level, RingBytes(call).AsDouble() * detour / DataRate(level, protocol, 1));
    runs.push_back(streams.Run("torus", protocol, *start + steps * HopOf(level, protocol)));
  }
  return runs;
}

}  // namespace dlcost
