#include "estimator/plan/attention_share.h"

namespace dlcost {

void AttentionCounter::Add(const Kernel& kernel) {
  const Count macs = kernel.work.Of(OpClass::kMac);
  const auto* nest = std::get_if<AttentionNest>(&kernel.nest);
  (nest == nullptr ? share_.products : share_.scores) += Macs(macs);
  if (nest == nullptr || macs <= most_) return;
  most_ = macs;
  share_.q_len = nest->q_len;
  share_.kv_len = nest->kv_len;
  share_.phase = PhaseOf(*nest);
}

std::optional<AttentionShare> AttentionCounter::Share() const {
  if (most_ == Count(0)) return std::nullopt;
  return share_;
}

}  // namespace dlcost
