#include "models/networks/decoder.h"

#include <algorithm>
#include <cmath>

#include "estimator/core/error.h"
#include "models/networks/layers.h"

namespace dlcost::networks {
namespace {

// Attention with a window: "left_window_size" came with operator set 25.
constexpr int kDecoderOpset = 23, kOpsetOfWindows = 25;

std::int64_t RotatedWidth(const DecoderConfig& config) {
  return config.latent ? config.latent->rotary : config.rotary_width;
}

Angles RotaryAngles(Builder& b, const std::string& name, const Value& position_ids,
                    const DecoderConfig& config) {
  const Builder::Scope scope = b.In(name);
  // In f32 also when the network is not: positions past 2048 have no exact f16 or bf16 products.
  const Value frequencies = b.Weight("inv_freq", {RotatedWidth(config) / 2}, DType::kFloat32);
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

bool HasWindows(const DecoderConfig& config) {
  return std::any_of(config.layers.begin(), config.layers.end(),
                     [](const DecoderLayer& layer) { return layer.window > 0; });
}

Value Logits(Builder& b, const Value& x, const Value& table, const Value& ids,
             const DecoderConfig& config) {
  Value logits;
  if (config.tied) {
    const Builder::Scope head = b.In("lm_head");
    logits = TiedProjection(b, x, table, config.vocabulary, config.width, ids);
  } else {
    logits = Linear(b, "lm_head", x, config.width, config.vocabulary, config.logits_bias);
  }
  if (config.logits_cap == 0) return logits;
  const Value cap = b.Scalar(config.logits_cap);
  return b.Node("Mul", {b.Node("Tanh", {b.Node("Div", {logits, cap})}), cap});
}

Value Norm(Builder& b, const std::string& name, const Value& x, const DecoderConfig& config) {
  return config.norm == DecoderNorm::kRms ? RmsNorm(b, name, x, config.width)
                                          : LayerNorm(b, name, x, config.width);
}

Value ParallelLayer(Builder& b, const Value& x, const Angles& angles, std::size_t index,
                    const DecoderConfig& config) {
  const Value level = Norm(b, "input_layernorm", x, config);
  const Value other = config.residual == Residual::kParallelOneNorm
                          ? level
                          : Norm(b, "post_attention_layernorm", x, config);
  const Value attention = DecoderAttention(b, level, angles, index, config);
  const Value fed = DecoderFeedForward(b, other, index, config);
  return b.Node("Add", {b.Node("Add", {attention, fed}), x});
}

Value Layer(Builder& b, const Value& x, const Angles& angles, std::size_t index,
            const DecoderConfig& config) {
  if (config.residual != Residual::kSequential) return ParallelLayer(b, x, angles, index, config);
  const auto branch = [&](const std::string& name, const Value& y) {
    return config.branch_norms ? Norm(b, name, y, config) : y;
  };
  const Value attention =
      DecoderAttention(b, Norm(b, "input_layernorm", x, config), angles, index, config);
  const Value y = b.Node("Add", {x, branch("post_attention_layernorm", attention)});
  const char* before =
      config.branch_norms ? "pre_feedforward_layernorm" : "post_attention_layernorm";
  const Value fed = DecoderFeedForward(b, Norm(b, before, y, config), index, config);
  return b.Node("Add", {y, branch("post_feedforward_layernorm", fed)});
}

}  // namespace

void Validate(const DecoderConfig& config) {
  if (config.kv_heads < 1 || config.heads % config.kv_heads != 0) {
    throw Error("{} heads are no multiple of {} heads of keys and values", config.heads,
                config.kv_heads);
  }
  if (RotatedWidth(config) % 2 != 0 ||
      (!config.latent && config.rotary_width > config.head_width)) {
    throw Error("positions cannot rotate {} numbers of a head of {}", RotatedWidth(config),
                config.head_width);
  }
  if (config.experts && config.experts->active > config.experts->count) {
    throw Error("{} of {} experts are active", config.experts->active, config.experts->count);
  }
}

Network BuildDecoder(const std::string& name, const DecoderConfig& config, DType dtype) {
  Validate(config);
  const Dim sequence = config.decode ? Dim(std::int64_t{1}) : Dim("sequence");
  Builder b(name, HasWindows(config) ? kOpsetOfWindows : kDecoderOpset, dtype);
  if (!config.note.empty()) b.Note(config.note);
  const Value ids = b.Input("input_ids", DType::kInt64, {"batch", sequence});
  const Value position_ids = b.Input("position_ids", DType::kInt64, {"batch", sequence});
  Value table, x;
  {
    const Builder::Scope scope = b.In("embed_tokens");
    table = b.Weight("weight", {config.vocabulary, config.width});
    x = b.Node("Gather", {table, ids}, {{"axis", 0}});
    if (config.scaled_input) {
      x = b.Node("Mul", {x, b.Scalar(std::sqrt(static_cast<float>(config.width)))});
    }
  }
  const Angles angles = RotaryAngles(b, "rotary", position_ids, config);
  const Angles near = config.window_angles && HasWindows(config)
                          ? RotaryAngles(b, "rotary_local", position_ids, config)
                          : angles;
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const Builder::Scope layers = b.In("layers");
    const Builder::Scope layer = b.In(std::to_string(i));
    x = Layer(b, x, config.layers[i].window > 0 ? near : angles, i, config);
  }
  x = Norm(b, "norm", x, config);
  b.Output(Logits(b, x, table, ids, config), "logits", b.dtype(),
           {"batch", sequence, config.vocabulary});
  return b.Finish();
}

}  // namespace dlcost::networks
