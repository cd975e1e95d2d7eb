#include <cmath>

#include "estimator/core/error.h"
#include "models/networks/families.h"
#include "models/networks/layers.h"

namespace dlcost::networks {
namespace {

struct Config {
  std::int64_t layers;
  std::int64_t width;
  std::int64_t inner;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t vocabulary;
  bool decode;

  std::int64_t head_width() const { return width / heads; }
};

// Cosines and sines of position times frequency, [batch, sequence, head_width / 2] each.
struct Angles {
  Value cos;
  Value sin;
};

Angles RotaryAngles(Builder& b, const Value& position_ids, const Config& config) {
  const Builder::Scope scope = b.In("rotary");
  // In f32 also when the network is not: positions past 2048 have no exact f16 or bf16 products.
  const Value frequencies = b.Weight("inv_freq", {config.head_width() / 2}, DType::kFloat32);
  const Value positions =
      b.Node("Cast", {position_ids}, {{"to", Builder::OnnxType(DType::kFloat32)}});
  const Value column = b.Node("Unsqueeze", {positions, b.Ints({2})});
  const Value angles = b.Node("Mul", {column, frequencies});
  const auto table = [&](const char* op) {
    const Value exact = b.Node(op, {angles});
    return b.dtype() == DType::kFloat32
               ? exact
               : b.Node("Cast", {exact}, {{"to", Builder::OnnxType(b.dtype())}});
  };
  return {table("Cos"), table("Sin")};
}

Value RmsNorm(Builder& b, const std::string& name, const Value& x, std::int64_t width) {
  const Builder::Scope scope = b.In(name);
  return b.Node("RMSNormalization", {x, b.Weight("weight", {width})},
                {{"axis", -1}, {"epsilon", 1e-5f}});
}

// Grouped-query attention: `heads` query heads share `kv_heads` heads of keys and values.
Value SelfAttention(Builder& b, const Value& x, const Angles& angles, std::int64_t layer,
                    const Config& config) {
  const Builder::Scope scope = b.In("self_attn");
  const std::int64_t kv_width = config.kv_heads * config.head_width();
  const auto rotate = [&](const Value& y, std::int64_t heads) {
    return b.Node("RotaryEmbedding", {y, angles.cos, angles.sin}, {{"num_heads", heads}});
  };
  const Value q = rotate(Linear(b, "q_proj", x, config.width, config.width, false), config.heads);
  const Value k = rotate(Linear(b, "k_proj", x, config.width, kv_width, false), config.kv_heads);
  const Value v = Linear(b, "v_proj", x, config.width, kv_width, false);

  std::vector<Value> inputs = {q, k, v};
  Attributes attributes = {{"kv_num_heads", config.kv_heads}, {"q_num_heads", config.heads}};
  if (!config.decode) {
    attributes.insert(attributes.begin(), {"is_causal", 1});
    return Linear(b, "o_proj", b.Node("Attention", inputs, attributes), config.width, config.width,
                  false);
  }
  const std::vector<Dim> past = {"batch", config.kv_heads, "past", config.head_width()};
  const std::vector<Dim> present = {"batch", config.kv_heads, "past + 1", config.head_width()};
  const std::string prefix = std::to_string(layer);
  inputs.push_back("");  // no mask: one query may look at everything before it
  inputs.push_back(b.Input("past." + prefix + ".key", b.dtype(), past));
  inputs.push_back(b.Input("past." + prefix + ".value", b.dtype(), past));
  const std::vector<Value> outputs = b.Nodes("Attention", inputs, attributes, 3);
  b.Output(outputs[1], "present." + prefix + ".key", b.dtype(), present);
  b.Output(outputs[2], "present." + prefix + ".value", b.dtype(), present);
  return Linear(b, "o_proj", outputs[0], config.width, config.width, false);
}

// down(silu(gate(x)) * up(x))
Value SwiGlu(Builder& b, const Value& x, const Config& config) {
  const Builder::Scope scope = b.In("mlp");
  const Value gate = Linear(b, "gate_proj", x, config.width, config.inner, false);
  const Value up = Linear(b, "up_proj", x, config.width, config.inner, false);
  const Value silu = b.Node("Mul", {gate, b.Node("Sigmoid", {gate})});
  return Linear(b, "down_proj", b.Node("Mul", {silu, up}), config.inner, config.width, false);
}

}  // namespace

// A decoder as in Grattafiori et al., "The Llama 3 herd of models", arXiv 2407.21783, table 3.
// phase=prefill reads a prompt; phase=decode makes one token with a key-value cache.
std::string BuildLlama(const std::string& name, const Options& options) {
  const Config config = {options.Size("layers"),
                         options.Size("width"),
                         options.Size("inner"),
                         options.Size("heads"),
                         options.Size("kv_heads"),
                         options.Size("vocabulary"),
                         options.Choice("phase", {"prefill", "decode"}) == "decode"};
  if (config.width % (2 * config.heads) != 0 || config.heads % config.kv_heads != 0) {
    throw Error("network {}: width {} must be a multiple of 2 x heads {}, and heads of kv_heads {}",
                name, config.width, config.heads, config.kv_heads);
  }
  const Dim sequence = config.decode ? Dim(std::int64_t{1}) : Dim("sequence");

  Builder b(name, options.Opset(23), options.Type());
  const Value ids = b.Input("input_ids", DType::kInt64, {"batch", sequence});
  const Value position_ids = b.Input("position_ids", DType::kInt64, {"batch", sequence});
  Value x;
  {
    const Builder::Scope scope = b.In("embed_tokens");
    x = b.Node("Gather", {b.Weight("weight", {config.vocabulary, config.width}), ids},
               {{"axis", 0}});
  }
  const Angles angles = RotaryAngles(b, position_ids, config);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const Builder::Scope layers = b.In("layers");
    const Builder::Scope layer = b.In(std::to_string(i));
    const Value normed = RmsNorm(b, "input_layernorm", x, config.width);
    x = b.Node("Add", {x, SelfAttention(b, normed, angles, i, config)});
    x = b.Node("Add",
               {x, SwiGlu(b, RmsNorm(b, "post_attention_layernorm", x, config.width), config)});
  }
  x = RmsNorm(b, "norm", x, config.width);
  b.Output(Linear(b, "lm_head", x, config.width, config.vocabulary, false), "logits", b.dtype(),
           {"batch", sequence, config.vocabulary});
  return b.Serialize();
}

}  // namespace dlcost::networks
