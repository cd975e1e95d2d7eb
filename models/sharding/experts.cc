#include "models/sharding/sharding.h"

namespace dlcost {
namespace {

// com.microsoft MoE: tokens [.., hidden], routes [tokens, experts], then weights and biases of
// three layers, [experts, inner, hidden], [experts, hidden, inner], [experts, inner, hidden]. Every
// device has a part of each expert's inner numbers and so a part of each sum, as in a feed-forward
// layer of one expert. Which expert a token meets is decided everywhere alike; tokens are local.
void Experts(ShardingContext& c) {
  constexpr std::size_t kFc1 = 2, kBias1 = 3, kFc2 = 4, kBias2 = 5, kFc3 = 6, kBias3 = 7;
  const auto has = [&](std::size_t input) { return input < c.NumInputs() && c.Has(input); };
  if (!has(kFc1) || !has(kFc2) || c.Rank(0) < 1 || c.Rank(kFc1) != 3 || c.Rank(kFc2) != 3) {
    return c.WholeInputs();
  }
  const Axis experts = c.In(kFc1, 0), hidden = c.In(0, c.Rank(0) - 1), inner = c.In(kFc2, 2);
  Axis tokens;
  for (std::size_t a = 0; a + 1 < c.Rank(0); ++a) {
    tokens.insert(tokens.end(), c.In(0, a).begin(), c.In(0, a).end());
  }
  c.Whole(experts);
  c.Whole(hidden);
  for (std::size_t i = 1; i < c.NumInputs(); ++i) {
    if (!c.Has(i)) continue;
    if (i == 1) {
      if (c.Rank(i) != 2) return c.WholeInputs();
      c.Tie(c.In(i, 0), tokens);
      c.Whole(c.In(i, 1));
    } else {
      c.Tie(c.In(i, 0), experts);
    }
  }
  c.Tie(c.In(kFc1, 2), hidden);
  c.Tie(c.In(kFc2, 1), hidden);
  const std::int64_t wide = c.factors().SizeOf(c.In(kFc1, 1)), size = c.factors().SizeOf(inner);
  // Gate and value of one weight lie in pairs (swiglu_fusion 1) or one behind the other (2).
  const auto tie = [&](const Axis& axis) {
    if (wide == size) return c.Tie(axis, inner);
    if (c.op().Int("swiglu_fusion", 0) != 1) return c.factors().Concatenate(axis, {inner, inner});
    const auto [pairs, both] = c.factors().Divide(axis, size);
    c.Tie(pairs, inner);
    c.Whole(both);
  };
  if (wide != size && wide != 2 * size) return c.WholeInputs();
  tie(c.In(kFc1, 1));
  if (has(kBias1) && c.Rank(kBias1) == 2) tie(c.In(kBias1, 1));
  if (has(kFc3) && c.Rank(kFc3) == 3) {
    c.Tie(c.In(kFc3, 1), inner);
    c.Tie(c.In(kFc3, 2), hidden);
  }
  if (has(kBias3) && c.Rank(kBias3) == 2) c.Tie(c.In(kBias3, 1), inner);
  if (has(kBias2) && c.Rank(kBias2) == 2) c.Tie(c.In(kBias2, 1), hidden);
  // A part of the last bias goes into every device's part of the sum.
  c.Sum(inner);
  for (std::size_t a = 0; a < c.Rank(0); ++a) c.Out(0, a, c.In(0, a));
}

constexpr ShardingDef kExpertShardings[] = {{"MoE", Experts, "com.microsoft"}};

}  // namespace

std::span<const ShardingDef> ExpertShardings() { return kExpertShardings; }

}  // namespace dlcost
