#include <algorithm>

#include "estimator/roofline/part.h"
#include "models/algorithms/attention.h"

namespace dlcost {
namespace {

// Kernels of one family differ in their tiles, and libraries do not tell which one runs: what
// counts is the largest usual tile, F(4, r) for Winograd, and three real products per frequency.
Count LeastConvMacs(const ConvNest& nest, Algorithm algorithm, Count macs) {
  constexpr int kOutputs = 4;
  if (algorithm == Algorithm::kWinograd || algorithm == Algorithm::kWinogradNonfused) {
    Count all = 1, needed = 1;
    for (const ConvAxis& axis : nest.axes) {
      all *= Count(kOutputs) * axis.kernel;
      needed *= kOutputs + axis.kernel - 1;
    }
    return std::min(macs, macs / all * needed);
  }
  if (algorithm != Algorithm::kFft || nest.axes.size() != 2) return macs;
  Count least = macs;
  for (const int tile : {16, 32}) {
    if (nest.axes[0].kernel > tile || nest.axes[1].kernel > tile) continue;
    const Count tiles = nest.batch * CeilDiv(nest.axes[0].out, tile - nest.axes[0].kernel + 1) *
                        CeilDiv(nest.axes[1].out, tile - nest.axes[1].kernel + 1);
    least = std::min(
        least, Count(3) * tile * (tile / 2 + 1) * tiles * nest.in_channels * nest.out_channels);
  }
  return least;
}

}  // namespace

Count LeastMacs(const LoopNest& nest, Algorithm algorithm) {
  if (const auto* conv = std::get_if<ConvNest>(&nest)) {
    return LeastConvMacs(*conv, algorithm, MacsOf(nest));
  }
  const auto* attention = std::get_if<AttentionNest>(&nest);
  if (attention == nullptr || algorithm != Algorithm::kFlashAttention) return MacsOf(nest);
  return attention->batch * attention->q_heads * VisibleScores(*attention) *
         MacsPerScore(*attention);
}

}  // namespace dlcost
