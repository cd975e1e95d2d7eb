#include "models/sharding/sharding.h"

namespace dlcost {
namespace {

// X [N, g * c, positions], W [g * m, c, filter], B [g * m]: output channels are local, input
// channels of a group leave parts of sums, groups are local. Positions stay whole: neighbours would
// have to be exchanged.
void Conv(ShardingContext& c) {
  if (c.Rank(0) < 3 || c.Rank(1) != c.Rank(0)) return;
  const std::int64_t count = c.op().Int("group", 1);
  const auto [groups, channels] = c.factors().Divide(c.In(0, 1), count);
  const auto [same, filters] = c.factors().Divide(c.In(1, 0), count);
  c.Tie(groups, same);
  c.Tie(channels, c.In(1, 1));
  c.Sum(channels);
  if (count > 1) c.Count("group", groups);
  for (std::size_t input = 0; input < 2; ++input) {
    for (std::size_t a = 2; a < c.Rank(0); ++a) c.Whole(c.In(input, a));
  }
  c.Out(0, 0, c.In(0, 0));
  c.Out(0, 1, c.In(1, 0));
  if (c.Has(2) && c.Rank(2) == 1) c.Tie(c.In(2, 0), c.In(1, 0));
}

constexpr ShardingDef kConvolutionShardings[] = {{"Conv", Conv}};

}  // namespace

std::span<const ShardingDef> ConvolutionShardings() { return kConvolutionShardings; }

}  // namespace dlcost
