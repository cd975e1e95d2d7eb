#include "models/sharding/sharding.h"

namespace dlcost {
namespace {

// dlcost.parallel: what one of several devices gathers is whole along the axis, and stays so.
void Gathered(ShardingContext& c) {
  const std::size_t axis = NormalizeAxis(c.op().RequiredInt("axis"), c.Rank(0));
  for (std::size_t a = 0; a < c.Rank(0); ++a) {
    if (a != axis) c.Out(0, a, c.In(0, a));
  }
  c.Whole(c.In(0, axis));
}

constexpr ShardingDef kCollectiveShardings[] = {{"AllGather", Gathered, "dlcost.parallel"}};

}  // namespace

std::span<const ShardingDef> CollectiveShardings() { return kCollectiveShardings; }

}  // namespace dlcost
