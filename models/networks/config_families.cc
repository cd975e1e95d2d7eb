#include "models/networks/config_families.h"

#include <algorithm>

#include "estimator/core/error.h"
#include "models/networks/config_decoder.h"
#include "models/networks/config_gpt.h"

namespace dlcost::networks {
namespace {

DescribedNetwork Llama(const ConfigReader& config) {
  DecoderConfig decoder = DecoderOf(config);
  SetHeads(config, decoder);
  decoder.feed_forward_bias = config.Flag("mlp_bias", false);
  return decoder;
}

DecoderConfig MistralDecoder(const ConfigReader& config) {
  DecoderConfig decoder = DecoderOf(config);
  decoder.qkv_bias = decoder.out_bias = false;
  SetHeads(config, decoder);
  SetWindows(config, decoder, kEveryLayer);
  return decoder;
}
DescribedNetwork Mistral(const ConfigReader& config) { return MistralDecoder(config); }

// Every layer's.
void SetExperts(DecoderConfig& decoder, const Experts& experts) {
  decoder.experts = experts;
  for (DecoderLayer& layer : decoder.layers) layer.experts = true;
}

DescribedNetwork Mixtral(const ConfigReader& config) {
  DecoderConfig decoder = MistralDecoder(config);
  SetExperts(decoder, {.count = config.Size("num_local_experts"),
                       .active = config.Size("num_experts_per_tok"),
                       .inner = decoder.inner,
                       .normalized = true});
  return decoder;
}

// Windows from layer `max_window_layers` on, where they are used at all.
void SetQwenWindows(const ConfigReader& config, DecoderConfig& decoder) {
  if (!config.Flag("use_sliding_window", false)) return;
  const auto first = static_cast<std::size_t>(
      config.Has("max_window_layers") ? config.Count("max_window_layers") : 0);
  SetWindows(config, decoder, [first](std::size_t i) { return i >= first; });
}

DecoderConfig Qwen2Decoder(const ConfigReader& config) {
  DecoderConfig decoder = DecoderOf(config);
  SetHeads(config, decoder);
  decoder.qkv_bias = config.Flag("qkv_bias", true);
  decoder.out_bias = false;
  return decoder;
}
DescribedNetwork Qwen2(const ConfigReader& config) {
  DecoderConfig decoder = Qwen2Decoder(config);
  SetQwenWindows(config, decoder);
  return decoder;
}

DecoderConfig Qwen3Decoder(const ConfigReader& config) {
  DecoderConfig decoder = DecoderOf(config);
  SetHeads(config, decoder);
  decoder.head_norms = true;
  return decoder;
}
DescribedNetwork Qwen3(const ConfigReader& config) {
  DecoderConfig decoder = Qwen3Decoder(config);
  SetQwenWindows(config, decoder);
  return decoder;
}

// Experts in every `decoder_sparse_step`th layer that `mlp_only_layers` does not name.
void SetQwenExperts(const ConfigReader& config, DecoderConfig& decoder, Experts experts) {
  experts.count = config.Size("num_experts");
  experts.active = config.Size("num_experts_per_tok");
  experts.inner = config.Size("moe_intermediate_size");
  experts.normalized = config.Flag("norm_topk_prob", false);
  decoder.experts = experts;
  const auto step = static_cast<std::size_t>(config.Size("decoder_sparse_step", 1));
  const std::vector<std::int64_t> dense = config.Integers("mlp_only_layers");
  for (std::size_t i = 0; i < decoder.layers.size(); ++i) {
    const bool named =
        std::find(dense.begin(), dense.end(), static_cast<std::int64_t>(i)) != dense.end();
    decoder.layers[i].experts = !named && (i + 1) % step == 0;
  }
}

DescribedNetwork Qwen2Moe(const ConfigReader& config) {
  DecoderConfig decoder = Qwen2Decoder(config);
  if (config.Flag("use_sliding_window", false)) {
    SetWindows(config, decoder, [](std::size_t i) { return i % 2 == 0; });
  }
  SetQwenExperts(
      config, decoder,
      {.shared_inner = config.Size("shared_expert_intermediate_size"), .gated_share = true});
  return decoder;
}

DescribedNetwork Qwen3Moe(const ConfigReader& config) {
  DecoderConfig decoder = Qwen3Decoder(config);
  if (config.Flag("use_sliding_window", false)) SetWindows(config, decoder, kEveryLayer);
  SetQwenExperts(config, decoder, {});
  return decoder;
}

DecoderConfig GemmaDecoder(const ConfigReader& config) {
  DecoderConfig decoder = DecoderOf(config);
  decoder.head_width = decoder.rotary_width = config.Size("head_dim", 256);
  decoder.activation = ActivationOf(config, "gelu_pytorch_tanh");
  decoder.tied = config.Flag("tie_word_embeddings", true);
  decoder.scaled_input = true;
  return decoder;
}
DescribedNetwork Gemma(const ConfigReader& config) {
  DecoderConfig decoder = GemmaDecoder(config);
  // The first Gemma was released with "gelu" in its files and is run with the approximation.
  if (decoder.activation == "gelu") decoder.activation = "gelu_tanh";
  return decoder;
}

DescribedNetwork Gemma2(const ConfigReader& config) {
  DecoderConfig decoder = GemmaDecoder(config);
  decoder.branch_norms = true;
  decoder.scores_cap = static_cast<float>(config.Number("attn_logit_softcapping", 50));
  decoder.logits_cap = static_cast<float>(config.Number("final_logit_softcapping", 30));
  SetWindows(config, decoder, [](std::size_t i) { return i % 2 == 0; });
  return decoder;
}

DescribedNetwork Gemma3(const ConfigReader& config) {
  DecoderConfig decoder = GemmaDecoder(config);
  decoder.branch_norms = decoder.head_norms = decoder.window_angles = true;
  decoder.scores_cap = static_cast<float>(config.Number("attn_logit_softcapping", 0));
  decoder.logits_cap = static_cast<float>(config.Number("final_logit_softcapping", 0));
  const auto pattern = static_cast<std::size_t>(config.Size("sliding_window_pattern", 6));
  SetWindows(config, decoder, [pattern](std::size_t i) { return (i + 1) % pattern != 0; });
  return decoder;
}

DescribedNetwork Phi3(const ConfigReader& config) {
  DecoderConfig decoder = DecoderOf(config);
  decoder.qkv_bias = decoder.out_bias = false;
  SetHeads(config, decoder);
  decoder.joined = true;
  SetPartialRotation(config, "partial_rotary_factor", 1, decoder);
  SetWindows(config, decoder, kEveryLayer);
  return decoder;
}

DescribedNetwork Deepseek(const ConfigReader& config) {
  DecoderConfig decoder = DecoderOf(config);
  decoder.kv_heads = decoder.heads;
  LatentAttention latent;
  if (config.Has("q_lora_rank")) latent.query_rank = config.Size("q_lora_rank");
  latent.rank = config.Size("kv_lora_rank");
  latent.plain = config.Size("qk_nope_head_dim");
  latent.rotary = config.Size("qk_rope_head_dim");
  latent.value = config.Size("v_head_dim");
  decoder.latent = latent;
  Experts experts;
  experts.count = config.Size("n_routed_experts");
  experts.active = config.Size("num_experts_per_tok");
  experts.inner = config.Size("moe_intermediate_size");
  experts.normalized = config.Flag("norm_topk_prob", false);
  if (config.Has("n_shared_experts")) {
    experts.shared_inner = experts.inner * config.Count("n_shared_experts");
  }
  decoder.experts = experts;
  const auto dense = static_cast<std::size_t>(
      config.Has("first_k_dense_replace") ? config.Count("first_k_dense_replace") : 0);
  for (std::size_t i = dense; i < decoder.layers.size(); ++i) decoder.layers[i].experts = true;
  return decoder;
}

std::string Digits(std::int64_t value) { return std::to_string(value); }

// OpenAI's gpt-oss: biases everywhere, every other layer with a window, and experts whose gate and
// value are bounded (transformers, models/gpt_oss/modeling_gpt_oss.py: alpha 1.702, limit 7).
DescribedNetwork GptOss(const ConfigReader& config) {
  DecoderConfig decoder = DecoderOf(config);
  decoder.qkv_bias = decoder.out_bias = config.Flag("attention_bias", true);
  SetHeads(config, decoder);
  SetWindows(config, decoder, [](std::size_t i) { return i % 2 == 0; });
  SetExperts(decoder, {.count = config.Size("num_local_experts"),
                       .active = config.Size("num_experts_per_tok"),
                       .inner = decoder.inner,
                       .normalized = true,
                       .biases = true,
                       .alpha = 1.702f,
                       .beta = 1,
                       .limit = static_cast<float>(config.Number("swiglu_limit", 7)),
                       .router = "router"});
  decoder.note = "without the sinks of attention, a number per head and layer";
  return decoder;
}

DescribedNetwork Gpt2(const ConfigReader& config) {
  const std::int64_t width = config.Size("n_embd");
  if (ActivationOf(ConfigReader(config), "gelu_new") != "gelu_tanh" ||
      config.Text("activation_function", "gelu_new") != "gelu_new") {
    throw Error("activation_function: GPT-2 is built with gelu_new");
  }
  if (config.Size("n_inner", 4 * width) != 4 * width) {
    throw Error("n_inner: GPT-2 is built with 4 x n_embd");
  }
  return NamedNetwork{"gpt2",
                      {{"layers", Digits(static_cast<std::int64_t>(LayersOf(config, "n_layer")))},
                       {"width", Digits(width)},
                       {"heads", Digits(config.Size("n_head"))},
                       {"vocabulary", Digits(config.Size("vocab_size"))},
                       {"positions", Digits(config.Size("n_positions"))}}};
}

DescribedNetwork Bert(const ConfigReader& config) {
  if (ActivationOf(config, "gelu") != "gelu") throw Error("hidden_act: BERT is built with gelu");
  const auto layers = static_cast<std::int64_t>(LayersOf(config, "num_hidden_layers"));
  return NamedNetwork{"bert-base",
                      {{"layers", Digits(layers)},
                       {"width", Digits(config.Size("hidden_size"))},
                       {"inner", Digits(config.Size("intermediate_size"))},
                       {"heads", Digits(config.Size("num_attention_heads"))},
                       {"vocabulary", Digits(config.Size("vocab_size"))},
                       {"positions", Digits(config.Size("max_position_embeddings"))},
                       {"types", Digits(config.Size("type_vocab_size"))}}};
}

T5Config T5Of(const ConfigReader& config, const std::string& feed_forward, bool tied) {
  T5Config t5;
  t5.width = config.Size("d_model");
  t5.inner = config.Size("d_ff");
  t5.heads = config.Size("num_heads");
  t5.head_width = config.Size("d_kv");
  t5.vocabulary = config.Size("vocab_size");
  t5.encoder_layers = static_cast<std::int64_t>(LayersOf(config, "num_layers"));
  t5.decoder_layers = config.Has("num_decoder_layers")
                          ? static_cast<std::int64_t>(LayersOf(config, "num_decoder_layers"))
                          : t5.encoder_layers;
  t5.buckets = config.Size("relative_attention_num_buckets", t5.buckets);
  t5.distance = config.Size("relative_attention_max_distance", t5.distance);
  t5.tied = config.Flag("tie_word_embeddings", tied);
  // "relu", or "gated-gelu", which is gelu_new in transformers too.
  std::string name = config.Text("feed_forward_proj", feed_forward);
  const std::string gated = "gated-";
  t5.gated = name.starts_with(gated);
  if (t5.gated) name = name.substr(gated.size());
  t5.activation =
      ActivationNamed(t5.gated && name == "gelu" ? "gelu_new" : name, "feed_forward_proj");
  return t5;
}

DescribedNetwork T5(const ConfigReader& config) { return T5Of(config, "relu", true); }
DescribedNetwork MT5(const ConfigReader& config) { return T5Of(config, "gated-gelu", false); }
// Every layer has biases of its own for distances.
DescribedNetwork UMT5(const ConfigReader& config) {
  T5Config t5 = T5Of(config, "gated-gelu", true);
  t5.biases_by_layer = true;
  return t5;
}

}  // namespace

const std::vector<ConfigFamily>& ConfigFamilies() {
  static const std::vector<ConfigFamily> families = {
      {"bert", Bert},
      {"deepseek_v2", Deepseek},
      {"deepseek_v3", Deepseek},
      {"falcon", Falcon},
      {"gemma", Gemma},
      {"gemma2", Gemma2},
      {"gemma3_text", Gemma3},
      {"gpt2", Gpt2},
      {"gpt_neox", GptNeoX},
      {"gpt_oss", GptOss},
      {"gptj", GptJ},
      {"llama", Llama},
      {"mistral", Mistral},
      {"mixtral", Mixtral},
      {"mt5", MT5},
      {"phi", Phi},
      {"phi3", Phi3},
      {"qwen2", Qwen2},
      {"qwen2_moe", Qwen2Moe},
      {"qwen3", Qwen3},
      {"qwen3_moe", Qwen3Moe},
      {"stablelm", StableLm},
      {"starcoder2", Starcoder2},
      {"t5", T5},
      {"umt5", UMT5},
  };
  return families;
}

}  // namespace dlcost::networks
