#include <cmath>

#include "models/networks/decoder.h"
#include "models/networks/layers.h"

namespace dlcost::networks {
namespace {

// x: [batch, sequence, heads * width], rotated.
Value Rotate(Builder& b, const Value& x, const Angles& angles, std::int64_t heads,
             std::int64_t width, std::int64_t rotated) {
  Attributes attributes = {{"num_heads", heads}};
  if (rotated != width) attributes.emplace_back("rotary_embedding_dim", rotated);
  return b.Node("RotaryEmbedding", {x, angles.cos, angles.sin}, attributes);
}

// The same shape, each head normalized.
Value NormHeads(Builder& b, const std::string& name, const Value& x, std::int64_t heads,
                std::int64_t width) {
  const Value split = b.Node("Reshape", {x, b.Ints({0, 0, heads, width})});
  return b.Node("Reshape", {RmsNorm(b, name, split, width), b.Ints({0, 0, heads * width})});
}

Attributes AttentionAttributes(std::int64_t kv_heads, std::size_t layer,
                               const DecoderConfig& config) {
  Attributes attributes;
  if (!config.decode) attributes.emplace_back("is_causal", 1);
  attributes.emplace_back("kv_num_heads", kv_heads);
  attributes.emplace_back("q_num_heads", config.heads);
  if (config.scores_cap != 0) attributes.emplace_back("softcap", config.scores_cap);
  const std::int64_t window = config.layers[layer].window;
  if (window > 0) attributes.emplace_back("left_window_size", window - 1);
  return attributes;
}

// Grouped-query attention: `heads` query heads share `kv_heads` heads of keys and values.
Value GroupedAttention(Builder& b, const Value& x, const Angles& angles, std::size_t layer,
                       const DecoderConfig& config) {
  const std::int64_t q_width = config.heads * config.head_width;
  const std::int64_t kv_width = config.kv_heads * config.head_width;
  std::vector<Value> parts;
  if (config.joined) {
    const Value all =
        Linear(b, "qkv_proj", x, config.width, q_width + 2 * kv_width, config.qkv_bias);
    parts = b.Nodes("Split", {all, b.Ints({q_width, kv_width, kv_width})}, {{"axis", 2}}, 3);
  }
  const auto project = [&](const char* name, std::size_t part, std::int64_t width) {
    return config.joined ? parts[part] : Linear(b, name, x, config.width, width, config.qkv_bias);
  };
  const auto turn = [&](const char* norm, const Value& y, std::int64_t heads) {
    const Value level = config.head_norms ? NormHeads(b, norm, y, heads, config.head_width) : y;
    return Rotate(b, level, angles, heads, config.head_width, config.rotary_width);
  };
  const Value q = turn("q_norm", project("q_proj", 0, q_width), config.heads);
  const Value k = turn("k_norm", project("k_proj", 1, kv_width), config.kv_heads);
  const Value v = project("v_proj", 2, kv_width);
  std::vector<Value> inputs = {q, k, v};
  const Attributes attributes = AttentionAttributes(config.kv_heads, layer, config);
  if (!config.decode) return b.Node("Attention", inputs, attributes);
  const std::vector<Dim> past = {"batch", config.kv_heads, "past", config.head_width};
  const std::vector<Dim> present = {"batch", config.kv_heads, "past + 1", config.head_width};
  const std::string prefix = std::to_string(layer);
  inputs.push_back("");  // no mask: one query may look at everything before it
  inputs.push_back(b.Input("past." + prefix + ".key", b.dtype(), past));
  inputs.push_back(b.Input("past." + prefix + ".value", b.dtype(), past));
  const std::vector<Value> outputs = b.Nodes("Attention", inputs, attributes, 3);
  b.Output(outputs[1], "present." + prefix + ".key", b.dtype(), present);
  b.Output(outputs[2], "present." + prefix + ".value", b.dtype(), present);
  return outputs[0];
}

// What latent attention has before its keys and values are made from the latent vector.
struct Latents {
  Value query;          // [batch, sequence, heads, plain]
  Value rotated_query;  // [batch, sequence, heads * rotary]
  Value latent;         // [batch, sequence, rank]
  Value rotated_key;    // [batch, sequence, rotary]
};

Latents MakeLatents(Builder& b, const Value& x, const Angles& angles, const DecoderConfig& config) {
  const LatentAttention& latent = *config.latent;
  const std::int64_t head = latent.plain + latent.rotary;
  Value query = x;
  if (latent.query_rank > 0) {
    query = Linear(b, "q_a_proj", query, config.width, latent.query_rank, config.qkv_bias);
    query = RmsNorm(b, "q_a_layernorm", query, latent.query_rank);
    query = Linear(b, "q_b_proj", query, latent.query_rank, config.heads * head, false);
  } else {
    query = Linear(b, "q_proj", query, config.width, config.heads * head, false);
  }
  const Value heads = b.Node("Reshape", {query, b.Ints({0, 0, config.heads, head})});
  const std::vector<Value> queries =
      b.Nodes("Split", {heads, b.Ints({latent.plain, latent.rotary})}, {{"axis", 3}}, 2);
  const Value turning =
      b.Node("Reshape", {queries[1], b.Ints({0, 0, config.heads * latent.rotary})});
  const Value joint = Linear(b, "kv_a_proj_with_mqa", x, config.width, latent.rank + latent.rotary,
                             config.qkv_bias);
  const std::vector<Value> parts =
      b.Nodes("Split", {joint, b.Ints({latent.rank, latent.rotary})}, {{"axis", 2}}, 2);
  return {queries[0], Rotate(b, turning, angles, config.heads, latent.rotary, latent.rotary),
          RmsNorm(b, "kv_a_layernorm", parts[0], latent.rank),
          Rotate(b, parts[1], angles, 1, latent.rotary, latent.rotary)};
}

// A prompt: keys and values of all heads are made, as in training.
Value ExpandedAttention(Builder& b, const Latents& made, std::size_t layer,
                        const DecoderConfig& config) {
  const LatentAttention& latent = *config.latent;
  const std::int64_t head = latent.plain + latent.rotary, heads = config.heads;
  const Value turned =
      b.Node("Reshape", {made.rotated_query, b.Ints({0, 0, heads, latent.rotary})});
  const Value q = b.Node("Concat", {made.query, turned}, {{"axis", 3}});
  const Value expanded = Linear(b, "kv_b_proj", made.latent, latent.rank,
                                heads * (latent.plain + latent.value), false);
  const Value split =
      b.Node("Reshape", {expanded, b.Ints({0, 0, heads, latent.plain + latent.value})});
  const std::vector<Value> kv =
      b.Nodes("Split", {split, b.Ints({latent.plain, latent.value})}, {{"axis", 3}}, 2);
  const Value shared = b.Node("Unsqueeze", {made.rotated_key, b.Ints({2})});
  const Value each = b.Node("Tile", {shared, b.Ints({1, 1, heads, 1})});
  const Value k = b.Node("Concat", {kv[0], each}, {{"axis", 3}});
  const auto flat = [&](const Value& y, std::int64_t width) {
    return b.Node("Reshape", {y, b.Ints({0, 0, heads * width})});
  };
  return b.Node("Attention", {flat(q, head), flat(k, head), flat(kv[1], latent.value)},
                AttentionAttributes(heads, layer, config));
}

// One token: the projection of the keys is moved to the query, and the values' behind the sum over
// positions, so that the cache holds the latent vectors alone and all heads read the same ones.
Value AbsorbedAttention(Builder& b, const Latents& made, std::size_t layer,
                        const DecoderConfig& config) {
  const LatentAttention& latent = *config.latent;
  const std::int64_t heads = config.heads, key = latent.rank + latent.rotary;
  using Ints = std::vector<std::int64_t>;
  // [batch, 1, heads, from] times [heads, from, to]: [batch, heads, to].
  const auto per_head = [&](const char* name, const Value& y, std::int64_t from, std::int64_t to) {
    const Value first = b.Node("Transpose", {y}, {{"perm", Ints{2, 0, 1, 3}}});
    const Value rows = b.Node("Reshape", {first, b.Ints({0, -1, from})});
    const Value product = b.Node("MatMul", {rows, b.Weight(name, {heads, from, to})});
    return b.Node("Transpose", {product}, {{"perm", Ints{1, 0, 2}}});
  };
  const Value absorbed = per_head("kv_b_proj.key", made.query, latent.plain, latent.rank);
  const Value turned = b.Node("Reshape", {made.rotated_query, b.Ints({0, heads, latent.rotary})});
  const Value q = b.Node("Concat", {absorbed, turned}, {{"axis", 2}});
  const std::string name = "." + std::to_string(layer) + ".latent";
  const Value fresh = b.Node("Concat", {made.latent, made.rotated_key}, {{"axis", 2}});
  const Value past = b.Input("past" + name, b.dtype(), {"batch", "past", key});
  const Value all = b.Node("Concat", {past, fresh}, {{"axis", 1}});
  b.Output(all, "present" + name, b.dtype(), {"batch", "past + 1", key});
  const Value values = b.Node("Slice", {all, b.Ints({0}), b.Ints({latent.rank}), b.Ints({2})});
  Attributes attributes = AttentionAttributes(1, layer, config);
  attributes.emplace_back("scale",
                          1.0f / std::sqrt(static_cast<float>(latent.plain + latent.rotary)));
  const Value one = b.Node("Reshape", {q, b.Ints({0, 1, heads * key})});
  const Value sums = b.Node("Attention", {one, all, values}, attributes);
  const Value split = b.Node("Reshape", {sums, b.Ints({0, 1, heads, latent.rank})});
  const Value out = per_head("kv_b_proj.value", split, latent.rank, latent.value);
  return b.Node("Reshape", {out, b.Ints({0, 1, heads * latent.value})});
}

}  // namespace

Value DecoderAttention(Builder& b, const Value& x, const Angles& angles, std::size_t layer,
                       const DecoderConfig& config) {
  const Builder::Scope scope = b.In("self_attn");
  if (!config.latent) {
    return Linear(b, "o_proj", GroupedAttention(b, x, angles, layer, config),
                  config.heads * config.head_width, config.width, config.out_bias);
  }
  const Latents latents = MakeLatents(b, x, angles, config);
  const Value attended = config.decode ? AbsorbedAttention(b, latents, layer, config)
                                       : ExpandedAttention(b, latents, layer, config);
  return Linear(b, "o_proj", attended, config.heads * config.latent->value, config.width,
                config.out_bias);
}

}  // namespace dlcost::networks
