#include "estimator/plan/attention_share.h"

namespace dlcost {

std::optional<AttentionShare> ShareOfAttention(const Plan& plan) {
  AttentionShare share;
  Count most;
  for (const Kernel& kernel : plan.kernels) {
    const Count macs = kernel.work.Of(OpClass::kMac);
    const auto* nest = std::get_if<AttentionNest>(&kernel.nest);
    (nest == nullptr ? share.products : share.scores) += Macs(macs);
    if (nest == nullptr || macs <= most) continue;
    most = macs;
    share.q_len = nest->q_len;
    share.kv_len = nest->kv_len;
    share.phase = PhaseOf(*nest);
  }
  if (most == Count(0)) return std::nullopt;
  return share;
}

}  // namespace dlcost
