#include "models/sharding/sharding.h"

namespace dlcost {
namespace {

// Attention works on every head alone: heads are local, what is within a head and the positions
// that are looked at have to be whole. Query heads that share keys and values go with them.

struct Heads {
  Axis heads, width;
};

// [batch, heads, sequence, width], or [batch, sequence, heads * width].
Heads HeadsOf(ShardingContext& c, const Axes& operand, std::int64_t heads) {
  if (operand.size() == 4) return {operand[1], operand[3]};
  const auto [major, minor] = c.factors().Divide(operand.back(), heads);
  return {major, minor};
}

Axes AxesOf(const ShardingContext& c, std::size_t input) {
  Axes axes;
  for (std::size_t a = 0; a < c.Rank(input); ++a) axes.push_back(c.In(input, a));
  return axes;
}

Axis Join(const Axis& major, const Axis& minor) {
  Axis both = major;
  both.insert(both.end(), minor.begin(), minor.end());
  return both;
}

// Query heads are groups of those of keys.
void TieHeads(ShardingContext& c, const Axis& query, const Axis& keys) {
  const auto [shared, group] = c.factors().Divide(query, c.factors().SizeOf(keys));
  c.Tie(shared, keys);
}

// A cache [batch, heads, positions, width], in and out.
void TieCache(ShardingContext& c, std::size_t input, std::size_t output, const Axis& batch,
              const Heads& heads) {
  if (c.Has(input) && c.Rank(input) == 4) {
    c.Tie(c.In(input, 0), batch);
    c.Tie(c.In(input, 1), heads.heads);
    c.Whole(c.In(input, 2));
    c.Tie(c.In(input, 3), heads.width);
  }
  if (output < c.NumOutputs() && c.OutRank(output) == 4) {
    c.Out(output, 0, batch);
    c.Out(output, 1, heads.heads);
    c.Out(output, 3, heads.width);
  }
}

// An operand that is aligned with scores [batch, heads, queries, keys].
void TieScores(ShardingContext& c, std::size_t input, const Axes& scores) {
  if (!c.Has(input)) return;
  for (std::size_t a = 0; a < c.Rank(input) && a < scores.size(); ++a) {
    const Axis& axis = c.In(input, c.Rank(input) - 1 - a);
    const Axis& score = scores[scores.size() - 1 - a];
    if (c.factors().SizeOf(axis) == c.factors().SizeOf(score)) c.Tie(axis, score);
  }
}

// ai.onnx Attention: Q, K, V, mask, past key, past value.
void Attention(ShardingContext& c) {
  const Axes q = AxesOf(c, 0), k = AxesOf(c, 1), v = AxesOf(c, 2);
  const bool apart = q.size() == 4;
  const Heads queries = HeadsOf(c, q, c.op().Int("q_num_heads", 1));
  const Heads keys = HeadsOf(c, k, c.op().Int("kv_num_heads", 1));
  const Heads values = HeadsOf(c, v, c.op().Int("kv_num_heads", 1));
  c.Tie(keys.heads, values.heads);
  TieHeads(c, queries.heads, keys.heads);
  c.Tie(queries.width, keys.width);
  c.Tie(q[0], k[0]);
  c.Tie(q[0], v[0]);
  for (const Axis* whole : {&queries.width, &values.width, &k[apart ? 2 : 1], &v[apart ? 2 : 1]}) {
    c.Whole(*whole);
  }
  const Axis& positions = q[apart ? 2 : 1];
  if (!apart) {
    c.Count("q_num_heads", queries.heads);
    c.Count("kv_num_heads", keys.heads);
  }
  c.Out(0, 0, q[0]);
  c.Out(0, apart ? 2 : 1, positions);
  if (apart) {
    c.Out(0, 1, queries.heads);
    c.Out(0, 3, values.width);
  } else {
    c.Out(0, 2, Join(queries.heads, values.width));
  }
  TieScores(c, 3, {q[0], queries.heads, positions, k[apart ? 2 : 1]});
  TieCache(c, 4, 1, q[0], keys);
  TieCache(c, 5, 2, q[0], values);
}

// com.microsoft GroupQueryAttention: query, key, value (or all in the query), past key, past value.
// MultiHeadAttention: query, key, value, bias of all three, padding mask, addend, past.
void FusedHeads(ShardingContext& c, const char* kv_attribute, std::size_t past) {
  const std::int64_t heads = c.op().RequiredInt("num_heads");
  const std::int64_t kv_heads = kv_attribute == nullptr ? heads : c.op().RequiredInt(kv_attribute);
  if (c.Rank(0) != 3 || heads < 1 || kv_heads < 1) {
    return c.WholeInputs();
  }
  const Axis batch = c.In(0, 0), positions = c.In(0, 1);
  Axis query = c.In(0, 2), key, value;
  if (c.Has(1) && c.Rank(1) == 3 && c.Has(2) && c.Rank(2) == 3) {
    key = c.In(1, 2);
    value = c.In(2, 2);
    for (const std::size_t other : {1, 2}) {
      c.Tie(c.In(other, 0), batch);
      c.Whole(c.In(other, 1));
    }
  } else if (!c.Has(1) && !c.Has(2)) {
    const std::int64_t width = c.factors().SizeOf(query) / (heads + 2 * kv_heads);
    const std::vector<Axis> parts = {c.factors().New(heads * width),
                                     c.factors().New(kv_heads * width),
                                     c.factors().New(kv_heads * width)};
    c.factors().Concatenate(query, parts);
    query = parts[0];
    key = parts[1];
    value = parts[2];
    c.Whole(positions);
  } else {
    return c.WholeInputs();
  }
  const Heads queries = HeadsOf(c, {query}, heads), keys = HeadsOf(c, {key}, kv_heads),
              values = HeadsOf(c, {value}, kv_heads);
  c.Tie(keys.heads, values.heads);
  TieHeads(c, queries.heads, keys.heads);
  c.Tie(queries.width, keys.width);
  c.Whole(queries.width);
  c.Whole(values.width);
  c.Count("num_heads", queries.heads);
  if (kv_attribute != nullptr) c.Count(kv_attribute, keys.heads);
  c.Out(0, 0, batch);
  c.Out(0, 1, positions);
  c.Out(0, 2, Join(queries.heads, values.width));
  if (kv_attribute == nullptr && c.Has(3) && c.Rank(3) == 1) {
    c.factors().Concatenate(c.In(3, 0), {query, key, value});
  }
  TieCache(c, past, 1, batch, keys);
  TieCache(c, past + 1, 2, batch, values);
}
void GroupQueryAttention(ShardingContext& c) { FusedHeads(c, "kv_num_heads", 3); }
void MultiHeadAttention(ShardingContext& c) { FusedHeads(c, nullptr, 6); }

// com.microsoft Attention: input, weights and bias of queries, keys and values side by side, mask,
// past, addend.
void ProjectedAttention(ShardingContext& c) {
  const std::int64_t heads = c.op().RequiredInt("num_heads");
  const bool even = c.Rank(0) == 3 && c.Rank(1) == 2 && heads > 0 &&
                    !c.op().HasAttribute("qkv_hidden_sizes") && !c.Has(4) && !c.Has(5);
  if (!even) {
    return c.WholeInputs();
  }
  c.Tie(c.In(0, 2), c.In(1, 0));
  c.Whole(c.In(1, 0));  // what follows the projection is no sum of parts
  c.Whole(c.In(0, 1));
  const std::int64_t size = c.factors().SizeOf(c.In(1, 1)) / 3;
  std::vector<Axis> parts, first;
  for (int i = 0; i < 3; ++i) {
    parts.push_back(c.factors().New(size));
    const Heads each = HeadsOf(c, {parts.back()}, heads);
    c.Whole(each.width);
    first.push_back(each.heads);
    c.Tie(each.heads, first.front());
  }
  c.factors().Concatenate(c.In(1, 1), parts);
  if (c.Has(2) && c.Rank(2) == 1) c.Tie(c.In(2, 0), c.In(1, 1));
  c.Count("num_heads", first.front());
  c.Out(0, 0, c.In(0, 0));
  c.Out(0, 1, c.In(0, 1));
  c.Out(0, 2, parts[2]);
}

// Pairs within a head are turned. [batch, heads, sequence, width] or [batch, sequence, all].
void Rotary(ShardingContext& c) {
  const std::int64_t heads = c.op().Int("num_heads", 0);
  for (std::size_t a = 0; a < c.Rank(0); ++a) c.Out(0, a, c.In(0, a));
  if (c.Rank(0) == 3 && heads > 0) {
    const auto [major, minor] = c.factors().Divide(c.In(0, 2), heads);
    c.Count("num_heads", major);
    c.Whole(minor);
  } else if (c.Rank(0) > 0) {
    c.Whole(c.In(0, c.Rank(0) - 1));
  }
  // Angles of batch and position, where they have them.
  const std::size_t position = c.Rank(0) == 4 ? 2 : 1;
  for (std::size_t i = 1; i < c.NumInputs(); ++i) {
    if (!c.Has(i) || c.Rank(i) < 2 || position >= c.Rank(0)) continue;
    if (c.Rank(i) == 3 && c.factors().SizeOf(c.In(i, 0)) == c.factors().SizeOf(c.In(0, 0))) {
      c.Tie(c.In(i, 0), c.In(0, 0));
    }
    const std::size_t at = c.Rank(i) == 3 ? 1 : 0;
    if (c.factors().SizeOf(c.In(i, at)) == c.factors().SizeOf(c.In(0, position)) &&
        c.Rank(i) == 3) {
      c.Tie(c.In(i, at), c.In(0, position));
    } else {
      c.Whole(c.In(0, position));
    }
  }
}

constexpr ShardingDef kAttentionShardings[] = {
    {"Attention", Attention},
    {"RotaryEmbedding", Rotary},
    {"GroupQueryAttention", GroupQueryAttention, "com.microsoft"},
    {"MultiHeadAttention", MultiHeadAttention, "com.microsoft"},
    {"Attention", ProjectedAttention, "com.microsoft"},
    {"RotaryEmbedding", Rotary, "com.microsoft"}};

}  // namespace

std::span<const ShardingDef> AttentionShardings() { return kAttentionShardings; }

}  // namespace dlcost
