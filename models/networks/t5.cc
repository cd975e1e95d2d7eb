#include "models/networks/t5.h"

#include <algorithm>
#include <cmath>

#include "estimator/core/error.h"
#include "models/networks/families.h"
#include "models/networks/options.h"

namespace dlcost::networks {
namespace {

constexpr int kT5Opset = 23;  // RMSNormalization

class T5Builder {
 public:
  T5Builder(const std::string& name, const T5Config& config, T5Phase phase, DType dtype)
      : config_(config), phase_(phase), b_(name, kT5Opset, dtype) {
    if (!config.note.empty()) b_.Note(config.note);
  }

  Network Build() {
    const bool encodes = phase_ == T5Phase::kPrefill || phase_ == T5Phase::kEncoder;
    const Value source = encodes ? Tokens("input_ids", "source") : Value();
    const Value target =
        phase_ == T5Phase::kEncoder ? Value() : Tokens("decoder_input_ids", Target());
    const Value kept = b_.Input("attention_mask", DType::kInt64, {"batch", "source"});
    source_mask_ = PaddingMask(b_, kept);
    Value encoded;
    if (phase_ == T5Phase::kDecoder) {
      encoded = b_.Input("encoder_hidden_states", b_.dtype(), {"batch", "source", config_.width});
    }
    table_ = b_.Weight("shared.weight", {config_.vocabulary, config_.width});
    if (encodes) encoded = Encoder(source);
    if (phase_ == T5Phase::kEncoder) {
      b_.Output(encoded, "last_hidden_state", b_.dtype(), {"batch", "source", config_.width});
      return b_.Finish();
    }
    const Value logits = Logits(Decoder(target, encoded), target);
    b_.Output(logits, "logits", b_.dtype(), {"batch", Target(), config_.vocabulary});
    return b_.Finish();
  }

 private:
  bool decodes() const { return phase_ == T5Phase::kDecode; }
  Dim Target() const { return decodes() ? Dim(std::int64_t{1}) : Dim("target"); }

  Value Tokens(const std::string& name, const Dim& sequence) {
    return b_.Input(name, DType::kInt64, {"batch", sequence});
  }

  Value Drop(const Value& x) { return config_.dropout ? Dropout(b_, x) : x; }

  Value Length(const Value& x, std::int64_t axis) {
    return b_.Node("Shape", {x}, {{"start", axis}, {"end", axis + 1}});
  }

  // x plus what `make` makes of it normalized, in the module "layer.INDEX".
  template <typename Make>
  Value Branch(std::int64_t index, const Value& x, Make make) {
    const Builder::Scope layers = b_.In("layer");
    const Builder::Scope layer = b_.In(std::to_string(index));
    return b_.Node("Add", {x, Drop(make(RmsNorm(b_, "layer_norm", x, config_.width)))});
  }

  // [batch, sequence, width] to [batch, heads, sequence, head].
  Value Heads(const std::string& name, const Value& x) {
    const AttentionSpec spec = config_.attention();
    return SplitHeads(b_, Linear(b_, name, x, config_.width, spec.width, false), spec);
  }

  Value Attend(const Value& q, const Value& k, const Value& v, const Value& bias) {
    const AttentionSpec spec = config_.attention();
    return Linear(b_, "o", AttendHeads(b_, q, k, v, bias, spec), spec.width, config_.width, false);
  }

  std::vector<Dim> CacheDims(const std::string& positions) const {
    return {"batch", config_.heads, positions, config_.head_width};
  }

  // The keys or values so far and the new token's, which also leave the network.
  Value Extend(const std::string& cache, const Value& fresh) {
    const Value past = b_.Input("past." + cache, b_.dtype(), CacheDims("past"));
    const Value all = b_.Node("Concat", {past, fresh}, {{"axis", 2}});
    b_.Output(all, "present." + cache, b_.dtype(), CacheDims("past + 1"));
    return all;
  }

  // What is added to the scores of self-attention. All layers have the first one's, but where each
  // has a table of its own.
  Value SelfBias(const Value& keys, const Value& queries, const Value& mask, bool encoder,
                 Value& shared) {
    if (!shared.empty() && !config_.biases_by_layer) return shared;
    shared = RelativeBias(b_, queries, keys, encoder, config_);
    if (!mask.empty()) shared = b_.Node("Add", {shared, mask});
    return shared;
  }

  Value EncoderAttention(const Value& x, Value& bias) {
    const Builder::Scope scope = b_.In("SelfAttention");
    const Value q = Heads("q", x), k = Heads("k", x), v = Heads("v", x);
    const Value length = Length(x, 1);
    return Attend(q, k, v, SelfBias(length, length, source_mask_, true, bias));
  }

  Value Encoder(const Value& source) {
    const Builder::Scope scope = b_.In("encoder");
    Value x = Drop(b_.Node("Gather", {table_, source}, {{"axis", 0}}));
    Value bias;
    for (std::int64_t i = 0; i < config_.encoder_layers; ++i) {
      const Builder::Scope blocks = b_.In("block");
      const Builder::Scope block = b_.In(std::to_string(i));
      x = Branch(0, x, [&](const Value& y) { return EncoderAttention(y, bias); });
      x = Branch(1, x, [&](const Value& y) { return T5FeedForward(b_, y, config_); });
    }
    return Drop(RmsNorm(b_, "final_layer_norm", x, config_.width));
  }

  Value DecoderSelfAttention(const Value& x, std::int64_t layer, const Value& mask, Value& bias) {
    const Builder::Scope scope = b_.In("SelfAttention");
    const Value q = Heads("q", x);
    Value k = Heads("k", x), v = Heads("v", x);
    if (decodes()) {
      k = Extend(std::to_string(layer) + ".key", k);
      v = Extend(std::to_string(layer) + ".value", v);
    }
    return Attend(q, k, v, SelfBias(Length(k, 2), Length(q, 2), mask, false, bias));
  }

  Value CrossAttention(const Value& x, const Value& encoded, std::int64_t layer) {
    const Builder::Scope scope = b_.In("EncDecAttention");
    const auto operand = [&](const char* weight, const char* cache) {
      return decodes() ? b_.Input("cross." + std::to_string(layer) + "." + cache, b_.dtype(),
                                  CacheDims("source"))
                       : Heads(weight, encoded);
    };
    const Value q = Heads("q", x);
    const Value k = operand("k", "key"), v = operand("v", "value");
    return Attend(q, k, v, source_mask_);
  }

  Value Decoder(const Value& target, const Value& encoded) {
    const Builder::Scope scope = b_.In("decoder");
    Value x = Drop(b_.Node("Gather", {table_, target}, {{"axis", 0}}));
    const Value mask = decodes() ? Value() : CausalMask(b_, target);
    Value bias;
    for (std::int64_t i = 0; i < config_.decoder_layers; ++i) {
      const Builder::Scope blocks = b_.In("block");
      const Builder::Scope block = b_.In(std::to_string(i));
      x = Branch(0, x, [&](const Value& y) { return DecoderSelfAttention(y, i, mask, bias); });
      x = Branch(1, x, [&](const Value& y) { return CrossAttention(y, encoded, i); });
      x = Branch(2, x, [&](const Value& y) { return T5FeedForward(b_, y, config_); });
    }
    return Drop(RmsNorm(b_, "final_layer_norm", x, config_.width));
  }

  Value Logits(const Value& x, const Value& target) {
    if (!config_.tied) return Linear(b_, "lm_head", x, config_.width, config_.vocabulary, false);
    const Builder::Scope scope = b_.In("lm_head");
    const float scale = 1.0f / std::sqrt(static_cast<float>(config_.width));
    const Value scaled = b_.Node("Mul", {x, b_.Scalar(scale)});
    return TiedProjection(b_, scaled, table_, config_.vocabulary, config_.width, target);
  }

  const T5Config& config_;
  T5Phase phase_;
  Builder b_;
  Value table_;
  Value source_mask_;  // [batch, 1, 1, source]
};

}  // namespace

T5Phase T5PhaseOf(const std::string& name) {
  const auto found = std::find(kT5Phases.begin(), kT5Phases.end(), name);
  if (found == kT5Phases.end()) throw Error("no phase '{}'", name);
  return static_cast<T5Phase>(found - kT5Phases.begin());
}

Network BuildT5Network(const std::string& name, const T5Config& config, T5Phase phase,
                       DType dtype) {
  // Half of the buckets for each side, half of those for themselves.
  if (config.buckets < 4 || config.distance <= config.buckets / 2) {
    throw Error("distances up to {} do not fall into {} buckets", config.distance, config.buckets);
  }
  return T5Builder(name, config, phase, dtype).Build();
}

Network BuildT5(const std::string& name, const Options& options) {
  const bool first = options.Choice("version", {"1.0", "1.1"}) == "1.0";
  T5Config config;
  config.width = options.Size("width");
  config.inner = options.Size("inner");
  config.heads = options.Size("heads");
  config.head_width = options.Size("head_width");
  config.vocabulary = options.Size("vocabulary");
  config.encoder_layers = config.decoder_layers = options.Size("layers");
  config.activation = first ? "relu" : "gelu_tanh";
  config.gated = !first;
  config.tied = first;
  config.dropout = options.Choice("dropout", {"none", "kept"}) == "kept";
  const T5Phase phase = T5PhaseOf(options.Choice("phase", kT5Phases));
  return BuildT5Network(name, config, phase, options.Type());
}

}  // namespace dlcost::networks
