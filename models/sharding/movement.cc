#include <algorithm>
#include <numeric>

#include "models/operators/transpose.h"
#include "models/sharding/sharding.h"

namespace dlcost {
namespace {

// Every axis of input 0 that keeps its size stays what it is; the others have to be whole.
void KeepOthers(ShardingContext& c) {
  for (std::size_t a = 0; a < c.Rank(0) && a < c.OutRank(0); ++a) {
    if (c.factors().SizeOf(c.In(0, a)) == c.OutSize(0, a)) {
      c.Out(0, a, c.In(0, a));
    } else {
      c.Whole(c.In(0, a));
    }
  }
}

// The same, where also what keeps its size mixes elements along `axes`.
void KeepAllBut(ShardingContext& c, const std::vector<std::size_t>& axes) {
  for (const std::size_t axis : axes) c.Whole(c.In(0, axis));
  KeepOthers(c);
}

void Transpose(ShardingContext& c) {
  const std::vector<std::int64_t> permutation = PermutationOf(c.op());
  for (std::size_t a = 0; a < permutation.size(); ++a) {
    c.Out(0, a, c.In(0, static_cast<std::size_t>(permutation[a])));
  }
}

void Concat(ShardingContext& c) {
  const std::size_t rank = c.OutRank(0);
  const std::size_t axis = NormalizeAxis(c.op().Int("axis", 1), rank);
  std::vector<Axis> parts;
  for (std::size_t i = 0; i < c.NumInputs(); ++i) {
    if (c.Rank(i) != rank) continue;
    for (std::size_t a = 0; a < rank; ++a) {
      if (a != axis) c.Out(0, a, c.In(i, a));
    }
    parts.push_back(c.In(i, axis));
  }
  const Axis all = c.factors().New(c.OutSize(0, axis));
  c.factors().Concatenate(all, parts);
  c.Out(0, axis, all);
}

void Split(ShardingContext& c) {
  const std::size_t rank = c.Rank(0);
  const std::size_t axis = NormalizeAxis(c.op().Int("axis", 0), rank);
  std::vector<Axis> parts;
  bool all = true;
  for (std::size_t o = 0; o < c.NumOutputs(); ++o) {
    if (!c.op().HasOutput(static_cast<int>(o))) {
      all = false;
      continue;
    }
    for (std::size_t a = 0; a < rank; ++a) {
      if (a != axis) c.Out(o, a, c.In(0, a));
    }
    parts.push_back(c.factors().New(c.OutSize(o, axis)));
    c.Out(o, axis, parts.back());
  }
  if (!all) return c.Whole(c.In(0, axis));
  // Parts of size 1 are picked out of the axis: nothing of it is left to split.
  const bool single = std::any_of(parts.begin(), parts.end(),
                                  [&](const Axis& part) { return c.factors().SizeOf(part) <= 1; });
  if (single && parts.size() > 1) return c.Whole(c.In(0, axis));
  c.factors().Concatenate(c.In(0, axis), parts);
}

// Rows of a table that its devices share out: each adds those that it has.
void Gather(ShardingContext& c) {
  const std::size_t rank = c.Rank(0);
  const std::size_t axis = NormalizeAxis(c.op().Int("axis", 0), rank);
  for (std::size_t a = 0; a < axis; ++a) c.Out(0, a, c.In(0, a));
  for (std::size_t a = 0; a < c.Rank(1); ++a) c.Out(0, axis + a, c.In(1, a));
  for (std::size_t a = axis + 1; a < rank; ++a) c.Out(0, c.Rank(1) + a - 1, c.In(0, a));
  const bool looked_up = c.op().InputIsConstant(0) && !c.op().Input(1).foldable;
  // A vocabulary is longer than its rows are wide; positions and kinds of tokens stay whole.
  const bool long_table =
      rank == 2 && axis == 0 && c.factors().SizeOf(c.In(0, 0)) >= c.factors().SizeOf(c.In(0, 1));
  if (looked_up && long_table) {
    c.Sum(c.In(0, axis));
  } else {
    c.Whole(c.In(0, axis));
  }
}

// Repeated elements are made where they are needed.
void Expand(ShardingContext& c) {
  c.Align(0);
  for (std::size_t a = 0; a < c.OutRank(0); ++a) {
    const std::size_t behind = c.OutRank(0) - a;
    const bool repeated =
        behind > c.Rank(0) || c.factors().SizeOf(c.In(0, c.Rank(0) - behind)) != c.OutSize(0, a);
    if (repeated) c.Out(0, a, c.factors().New(c.OutSize(0, a)));
  }
}

void CumSum(ShardingContext& c) {
  const Value* axis = c.op().InputValue(1);
  if (axis == nullptr || !axis->is_integer() || axis->size() != 1) {
    std::vector<std::size_t> all(c.Rank(0));
    std::iota(all.begin(), all.end(), 0);
    return KeepAllBut(c, all);
  }
  KeepAllBut(c, {NormalizeAxis(axis->ints()[0], c.Rank(0))});
}

void Trilu(ShardingContext& c) {
  if (c.Rank(0) >= 2) KeepAllBut(c, {c.Rank(0) - 2, c.Rank(0) - 1});
}

constexpr ShardingDef kMovementShardings[] = {
    {"Transpose", Transpose}, {"Concat", Concat}, {"Split", Split},     {"Gather", Gather},
    {"Slice", KeepOthers},    {"Expand", Expand}, {"Tile", KeepOthers}, {"Pad", KeepOthers},
    {"CumSum", CumSum},       {"Trilu", Trilu}};

}  // namespace

std::span<const ShardingDef> MovementShardings() { return kMovementShardings; }

}  // namespace dlcost
