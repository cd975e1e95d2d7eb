#include "estimator/collective/algorithms/algorithm.h"

#include <algorithm>

namespace dlcost {
namespace {

const LinkTiming::ProtocolConstants* Constants(const GroupLevel& level, LinkProtocol protocol) {
  const auto& protocols = level.link->timing.protocols;
  const auto at = protocols.find(protocol);
  return at == protocols.end() || at->second.share <= 0 ? nullptr : &at->second;
}

}  // namespace

std::optional<double> StartOf(LinkProtocol protocol, const std::vector<GroupLevel>& levels) {
  double start = 0;
  for (const GroupLevel& level : levels) {
    const auto* constants = Constants(level, protocol);
    if (!constants) return std::nullopt;
    start = std::max(start, constants->start);
  }
  return start;
}

double DataRate(const GroupLevel& level, LinkProtocol protocol, double members) {
  return level.rate * members * Constants(level, protocol)->share;
}

const GroupLevel& FirstNetwork(const std::vector<GroupLevel>& levels) {
  return *std::find_if(levels.begin(), levels.end(),
                       [](const GroupLevel& level) { return level.link->network; });
}

double HopOf(const GroupLevel& level, LinkProtocol protocol) {
  const auto* constants = Constants(level, protocol);
  return constants ? constants->hop : 0;
}

int Passes(CollectiveOp op) { return op == CollectiveOp::kAllReduce ? 2 : 1; }

void SlowestStream::Add(const GroupLevel& level, double seconds) {
  if (link_ && seconds <= seconds_) return;
  seconds_ = seconds;
  link_ = level.link;
}

CollectiveRun SlowestStream::Run(const char* algorithm, LinkProtocol protocol,
                                 double latency) const {
  return {algorithm, protocol, Seconds(latency), Seconds(seconds_), link_->name, link_->network};
}

}  // namespace dlcost
