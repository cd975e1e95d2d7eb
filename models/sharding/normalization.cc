#include <numeric>

#include "models/sharding/sharding.h"

namespace dlcost {
namespace {

// Every axis is that of input 0, in every output that has as many.
void Follow(ShardingContext& c) {
  for (std::size_t o = 0; o < c.NumOutputs(); ++o) {
    if (c.OutRank(o) == c.Rank(0)) c.Align(0, o);
  }
}

void WholeFrom(ShardingContext& c, std::size_t first) {
  for (std::size_t a = first; a < c.Rank(0); ++a) c.Whole(c.In(0, a));
}

// Over the axes from `axis` on; further inputs are aligned with them.
void LayerNorm(ShardingContext& c) {
  WholeFrom(c, NormalizeAxis(c.op().Int("axis", -1), c.Rank(0)));
  Follow(c);
  for (std::size_t i = 1; i < c.NumInputs(); ++i) {
    if (c.Has(i)) c.Align(i);
  }
}

// com.microsoft: over the last axis, of a sum with further inputs.
void SkipNorm(ShardingContext& c) {
  if (c.Rank(0) > 0) c.Whole(c.In(0, c.Rank(0) - 1));
  Follow(c);
  for (std::size_t i = 1; i < c.NumInputs(); ++i) {
    if (c.Has(i)) c.Align(i);
  }
}

void Softmax(ShardingContext& c) {
  const bool flat = c.op().since() < 13;  // over all axes from `axis` on
  const std::size_t axis = NormalizeAxis(c.op().Int("axis", flat ? 1 : -1), c.Rank(0));
  if (flat) {
    WholeFrom(c, axis);
  } else {
    c.Whole(c.In(0, axis));
  }
  Follow(c);
}

// A sum or mean of parts is the sum of the parts' sums; of others it needs all elements.
void Reduce(ShardingContext& c, bool linear) {
  const std::size_t rank = c.Rank(0);
  std::vector<bool> reduced(rank, false);
  const auto axes = c.op().IntsFromInputOrAttribute(1, "axes");
  if (axes && !axes->empty()) {
    for (const std::int64_t axis : *axes) reduced[NormalizeAxis(axis, rank)] = true;
  } else if (c.op().Int("noop_with_empty_axes", 0) == 0) {
    reduced.assign(rank, true);
  }
  const bool keeps = c.op().Int("keepdims", 1) != 0;
  for (std::size_t a = 0, out = 0; a < rank; ++a) {
    if (reduced[a]) {
      linear ? c.Sum(c.In(0, a)) : c.Whole(c.In(0, a));
      if (keeps) ++out;
    } else {
      c.Out(0, out++, c.In(0, a));
    }
  }
}
void LinearReduce(ShardingContext& c) { Reduce(c, true); }
void OtherReduce(ShardingContext& c) { Reduce(c, false); }

// Statistics of each channel (axis 1), to which every further input belongs.
void BatchNorm(ShardingContext& c) {
  Follow(c);
  if (c.Rank(0) < 2) return;
  for (std::size_t i = 1; i < c.NumInputs(); ++i) {
    if (c.Has(i) && c.Rank(i) == 1) c.Tie(c.In(i, 0), c.In(0, 1));
  }
  for (std::size_t o = 1; o < c.NumOutputs(); ++o) {
    if (c.OutRank(o) == 1) c.Out(o, 0, c.In(0, 1));
  }
}

void InstanceNorm(ShardingContext& c) {
  WholeFrom(c, 2);
  BatchNorm(c);
}

void GroupNorm(ShardingContext& c) {
  WholeFrom(c, 2);
  if (c.Rank(0) >= 2) {
    const auto [groups, own] = c.factors().Divide(c.In(0, 1), c.op().RequiredInt("num_groups"));
    c.Whole(own);
    c.Count("num_groups", groups);
  }
  BatchNorm(c);
}

// Over neighbours: channels stay, positions have to be whole.
void Pool(ShardingContext& c) {
  WholeFrom(c, 2);
  for (std::size_t a = 0; a < 2 && a < c.Rank(0); ++a) {
    for (std::size_t o = 0; o < c.NumOutputs(); ++o) c.Out(o, a, c.In(0, a));
  }
}

constexpr ShardingDef kNormalizationShardings[] = {
    {"LayerNormalization", LayerNorm},
    {"RMSNormalization", LayerNorm},
    {"SimplifiedLayerNormalization", LayerNorm},
    {"SimplifiedLayerNormalization", LayerNorm, "com.microsoft"},
    {"SkipLayerNormalization", SkipNorm, "com.microsoft"},
    {"SkipSimplifiedLayerNormalization", SkipNorm, "com.microsoft"},
    {"Softmax", Softmax},
    {"LogSoftmax", Softmax},
    {"ReduceSum", LinearReduce},
    {"ReduceMean", LinearReduce},
    {"ReduceMax", OtherReduce},
    {"ReduceMin", OtherReduce},
    {"ReduceProd", OtherReduce},
    {"ReduceL2", OtherReduce},
    {"BatchNormalization", BatchNorm},
    {"InstanceNormalization", InstanceNorm},
    {"GroupNormalization", GroupNorm},
    {"AveragePool", Pool},
    {"MaxPool", Pool},
    {"GlobalAveragePool", Pool},
    {"GlobalMaxPool", Pool},
    {"Resize", Pool}};

}  // namespace

std::span<const ShardingDef> NormalizationShardings() { return kNormalizationShardings; }

}  // namespace dlcost
