#include <cmath>

#include "models/networks/families.h"
#include "models/networks/layers.h"

namespace dlcost::networks {
namespace {

struct TransformerConfig {
  std::int64_t layers;
  std::int64_t width;
  std::int64_t inner;
  std::int64_t heads;
  std::int64_t vocabulary;
};

// Longest sequence of the fixed table of sines that is added to the embeddings.
constexpr std::int64_t kPositions = 1024;

// x + f(x), normalized after the sum.
Value AddNorm(Builder& b, const std::string& name, const Value& x, const Value& fx,
              const TransformerConfig& config) {
  const Builder::Scope scope = b.In(name);
  return LayerNorm(b, "norm", b.Node("Add", {x, fx}), config.width);
}

// No biases in the projections of attention: equations in section 3.2.2 of the paper.
Value Attention(Builder& b, const std::string& name, const Value& query, const Value& memory,
                const Value& mask, const TransformerConfig& config) {
  const Builder::Scope scope = b.In(name);
  return MultiHeadAttention(b, query, memory, mask, {config.width, config.heads, false});
}

Value TransformerFeedForward(Builder& b, const Value& x, const TransformerConfig& config) {
  const Builder::Scope scope = b.In("feed_forward");
  const Value inner = Relu(b, Linear(b, "inner", x, config.width, config.inner));
  return Linear(b, "outer", inner, config.inner, config.width);
}

Value Embed(Builder& b, const Value& table, const Value& positions, const Value& ids,
            const TransformerConfig& config) {
  const Value rows = b.Node("Gather", {table, ids}, {{"axis", 0}});
  const Value scaled = b.Node("Mul", {rows, b.Scalar(std::sqrt(static_cast<float>(config.width)))});
  return b.Node("Add", {scaled, FirstPositions(b, positions, ids)});
}

}  // namespace

// The encoder-decoder of Vaswani et al., "Attention is all you need", arXiv 1706.03762, section 3
// and table 3. One table embeds source and target and projects the output (section 3.4).
Network BuildTransformer(const std::string& name, const Options& options) {
  const TransformerConfig config = {options.Size("layers"), options.Size("width"),
                                    options.Size("inner"), options.Size("heads"),
                                    options.Size("vocabulary")};
  Builder b(name, options.Opset(17), options.Type());
  const Value source = b.Input("source_ids", DType::kInt64, {"batch", "source"});
  const Value target = b.Input("target_ids", DType::kInt64, {"batch", "target"});
  const Value table = b.Weight("embedding.weight", {config.vocabulary, config.width});
  const Value positions = b.Weight("positions", {kPositions, config.width});

  Value memory;
  {
    const Builder::Scope encoder = b.In("encoder");
    memory = Embed(b, table, positions, source, config);
    for (std::int64_t i = 0; i < config.layers; ++i) {
      const Builder::Scope layer = b.In(std::to_string(i));
      memory = AddNorm(b, "add1", memory,
                       Attention(b, "self_attention", memory, memory, "", config), config);
      memory = AddNorm(b, "add2", memory, TransformerFeedForward(b, memory, config), config);
    }
  }
  Value x;
  {
    const Builder::Scope decoder = b.In("decoder");
    x = Embed(b, table, positions, target, config);
    const Value mask = CausalMask(b, target);
    for (std::int64_t i = 0; i < config.layers; ++i) {
      const Builder::Scope layer = b.In(std::to_string(i));
      x = AddNorm(b, "add1", x, Attention(b, "self_attention", x, x, mask, config), config);
      x = AddNorm(b, "add2", x, Attention(b, "cross_attention", x, memory, "", config), config);
      x = AddNorm(b, "add3", x, TransformerFeedForward(b, x, config), config);
    }
  }
  {
    const Builder::Scope projection = b.In("projection");
    x = TiedProjection(b, x, table, config.vocabulary, config.width, target);
  }
  b.Output(x, "logits", b.dtype(), {"batch", "target", config.vocabulary});
  return b.Finish();
}

}  // namespace dlcost::networks
