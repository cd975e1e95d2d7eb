#include "models/operators/cache.h"

#include <algorithm>

namespace dlcost {
namespace {

// Of `positions` along `axis` of a cache.
Bytes SizeOfPositions(DType type, const Shape& shape, std::size_t axis, Count positions) {
  const Count per_position = shape.Product(0, axis) * shape.Product(axis + 1, shape.rank());
  return SizeOf(type, per_position * std::min(positions, Count(shape[axis])));
}

}  // namespace

void GrowCache(OpCost& cost, const OpContext& ctx, const GrowingCache& cache) {
  if (!ctx.HasInput(cache.past)) return;
  for (Access& access : cost.accesses) {
    if (!access.is_output && access.operand == cache.past) {
      const Shape& past = ctx.InputShape(cache.past);
      if (cache.filled >= Count(past[cache.axis])) continue;
      access.kind = AccessKind::kStrided;
      access.bytes = SizeOfPositions(ctx.InputType(cache.past), past, cache.axis, cache.filled);
    } else if (access.is_output && access.operand == cache.present) {
      access.kind = AccessKind::kInPlace;
      access.bytes = SizeOfPositions(ctx.OutputType(cache.present), ctx.OutputShape(cache.present),
                                     cache.axis, cache.fresh);
      access.memory_of = cache.past;
    }
  }
}

}  // namespace dlcost
