#include "models/networks/families.h"
#include "models/networks/layers.h"

namespace dlcost::networks {
namespace {

struct Gpt2Config {
  AttentionSpec attention;
  std::int64_t layers;
  std::int64_t vocabulary;
  std::int64_t positions;
  bool decode;
};

// The keys or values so far and the new token's, which also leave the network.
Value Extend(Builder& b, const std::string& cache, const Value& fresh, const Gpt2Config& config) {
  const std::int64_t heads = config.attention.heads;
  const std::int64_t head_width = config.attention.width / heads;
  const Value past = b.Input("past." + cache, b.dtype(), {"batch", heads, "past", head_width});
  const Value all = b.Node("Concat", {past, fresh}, {{"axis", 2}});
  b.Output(all, "present." + cache, b.dtype(), {"batch", heads, "past + 1", head_width});
  return all;
}

Value SelfAttention(Builder& b, const Value& x, const Value& mask, std::int64_t layer,
                    const Gpt2Config& config) {
  const Builder::Scope scope = b.In("attn");
  const AttentionSpec& spec = config.attention;
  const Value qkv = Linear(b, "c_attn", x, spec.width, 3 * spec.width);
  const std::vector<Value> parts =
      b.Nodes("Split", {qkv, b.Ints({spec.width, spec.width, spec.width})}, {{"axis", 2}}, 3);
  const Value q = SplitHeads(b, parts[0], spec);
  Value k = SplitHeads(b, parts[1], spec);
  Value v = SplitHeads(b, parts[2], spec);
  if (config.decode) {
    const std::string prefix = std::to_string(layer);
    k = Extend(b, prefix + ".key", k, config);
    v = Extend(b, prefix + ".value", v, config);
  }
  const Value y = Linear(b, "c_proj", AttendHeads(b, q, k, v, mask, spec), spec.width, spec.width);
  return spec.dropout ? Dropout(b, y) : y;
}

Value Gpt2FeedForward(Builder& b, const Value& x, const AttentionSpec& spec) {
  const std::int64_t width = spec.width;
  const Builder::Scope scope = b.In("mlp");
  const Value inner = Linear(b, "c_fc", x, width, 4 * width);
  const Value active = b.Node("Gelu", {inner}, {{"approximate", "tanh"}});
  const Value y = Linear(b, "c_proj", active, 4 * width, width);
  return spec.dropout ? Dropout(b, y) : y;
}

// The rows of the position table: from 0 in prefill, the one after the cache in decode.
Value CachedPositions(Builder& b, const Value& ids, const Gpt2Config& config) {
  const Value table = b.Weight("wpe.weight", {config.positions, config.attention.width});
  if (!config.decode) return FirstPositions(b, table, ids);
  const Value past = b.Node("Shape", {"past.0.key"}, {{"start", 2}, {"end", 3}});
  return b.Node("Gather", {table, past}, {{"axis", 0}});
}

}  // namespace

// GPT-2 of Radford et al., "Language models are unsupervised multitask learners", 2019, with the
// output projection tied to the embedding. phase=prefill reads a prompt; phase=decode makes one
// token with a key-value cache of "past" tokens as inputs and outputs.
Network BuildGpt2(const std::string& name, const Options& options) {
  const bool dropout = options.Choice("dropout", {"none", "kept"}) == "kept";
  const Gpt2Config config = {
      {.width = options.Size("width"), .heads = options.Size("heads"), .dropout = dropout},
      options.Size("layers"),
      options.Size("vocabulary"),
      options.Size("positions"),
      options.Choice("phase", {"prefill", "decode"}) == "decode"};
  const std::int64_t width = config.attention.width;
  const Dim sequence = config.decode ? Dim(std::int64_t{1}) : Dim("sequence");

  Builder b(name, options.Opset(20), options.Type());
  const Value ids = b.Input("input_ids", DType::kInt64, {"batch", sequence});
  const Value table = b.Weight("wte.weight", {config.vocabulary, width});
  Value x = b.Node("Gather", {table, ids}, {{"axis", 0}});
  x = b.Node("Add", {x, CachedPositions(b, ids, config)});
  if (dropout) x = Dropout(b, x);
  const Value mask = config.decode ? "" : CausalMask(b, ids);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const Builder::Scope blocks = b.In("h");
    const Builder::Scope block = b.In(std::to_string(i));
    x = b.Node("Add", {x, SelfAttention(b, LayerNorm(b, "ln_1", x, width), mask, i, config)});
    x = b.Node("Add", {x, Gpt2FeedForward(b, LayerNorm(b, "ln_2", x, width), config.attention)});
  }
  x = LayerNorm(b, "ln_f", x, width);
  {
    const Builder::Scope head = b.In("lm_head");
    x = TiedProjection(b, x, table, config.vocabulary, width, ids);
  }
  b.Output(x, "logits", b.dtype(), {"batch", sequence, config.vocabulary});
  return b.Finish();
}

}  // namespace dlcost::networks
