#include "models/networks/config_gpt.h"

#include "estimator/core/error.h"
#include "models/networks/config_decoder.h"

namespace dlcost::networks {
namespace {

// Layer normalization, and a feed-forward layer without a gate.
DecoderConfig PlainDecoder(const ConfigReader& config) {
  DecoderConfig decoder = DecoderOf(config);
  decoder.norm = DecoderNorm::kLayer;
  decoder.gated = false;
  SetHeads(config, decoder);
  return decoder;
}

void SetBiases(DecoderConfig& decoder, bool biases) {
  decoder.qkv_bias = decoder.out_bias = decoder.feed_forward_bias = biases;
}

}  // namespace

// GPT-J names its sizes as GPT-2 does. Of each head 64 numbers are rotated, in pairs of neighbours,
// which costs what it costs elsewhere.
DescribedNetwork GptJ(const ConfigReader& config) {
  DecoderConfig decoder;
  decoder.norm = DecoderNorm::kLayer;
  decoder.residual = Residual::kParallelOneNorm;
  decoder.gated = false;
  decoder.width = config.Size("n_embd");
  decoder.inner = config.Size("n_inner", 4 * decoder.width);
  decoder.vocabulary = config.Size("vocab_size");
  decoder.heads = decoder.kv_heads = config.Size("n_head");
  decoder.layers.resize(LayersOf(config, "n_layer"));
  decoder.activation =
      ActivationNamed(config.Text("activation_function", "gelu_new"), "activation_function");
  decoder.tied = config.Flag("tie_word_embeddings", false);
  decoder.feed_forward_bias = decoder.logits_bias = true;
  SetHeads(config, decoder);
  decoder.rotary_width = config.Size("rotary_dim", decoder.head_width);
  return decoder;
}

// Pythia and GPT-NeoX-20B.
DescribedNetwork GptNeoX(const ConfigReader& config) {
  DecoderConfig decoder = PlainDecoder(config);
  if (config.Flag("use_parallel_residual", true)) decoder.residual = Residual::kParallel;
  decoder.activation = ActivationOf(config, "gelu");
  decoder.joined = true;
  SetBiases(decoder, true);
  decoder.qkv_bias = decoder.out_bias = config.Flag("attention_bias", true);
  SetPartialRotation(config, "rotary_pct", 0.25, decoder);
  return decoder;
}

// The first Falcons share one head of keys and values and one normalization; those of the new
// architecture have groups of heads, and two normalizations unless they say otherwise.
DescribedNetwork Falcon(const ConfigReader& config) {
  if (config.Flag("alibi", false)) {
    throw Error("alibi: decoders are built with rotary positions, not with distances");
  }
  DecoderConfig decoder;
  decoder.norm = DecoderNorm::kLayer;
  decoder.gated = false;
  decoder.width = config.Size("hidden_size");
  decoder.inner = config.Size("ffn_hidden_size", 4 * decoder.width);
  decoder.vocabulary = config.Size("vocab_size");
  decoder.heads = config.Size("num_attention_heads");
  decoder.layers.resize(LayersOf(config, "num_hidden_layers"));
  decoder.activation = ActivationNamed(config.Text("activation", "gelu"), "activation");
  decoder.tied = config.Flag("tie_word_embeddings", true);
  decoder.joined = true;
  SetBiases(decoder, config.Flag("bias", false));
  const bool grouped = config.Flag("new_decoder_architecture", false);
  decoder.kv_heads = grouped                            ? config.Size("num_kv_heads", decoder.heads)
                     : config.Flag("multi_query", true) ? 1
                                                        : decoder.heads;
  const std::int64_t norms = config.Size("num_ln_in_parallel_attn", grouped ? 2 : 1);
  if (grouped || config.Flag("parallel_attn", true)) {
    decoder.residual = norms == 2 ? Residual::kParallel : Residual::kParallelOneNorm;
  }
  SetHeads(config, decoder);
  return decoder;
}

// Phi-1 and Phi-2.
DescribedNetwork Phi(const ConfigReader& config) {
  DecoderConfig decoder = PlainDecoder(config);
  decoder.residual = Residual::kParallelOneNorm;
  decoder.activation = ActivationOf(config, "gelu_new");
  SetBiases(decoder, true);
  decoder.logits_bias = true;
  SetPartialRotation(config, "partial_rotary_factor", 0.5, decoder);
  return decoder;
}

DescribedNetwork StableLm(const ConfigReader& config) {
  DecoderConfig decoder = PlainDecoder(config);
  decoder.gated = true;
  if (config.Flag("qk_layernorm", false)) {
    throw Error("qk_layernorm: a normalization for each head is not built");
  }
  if (config.Flag("use_parallel_residual", false)) decoder.residual = Residual::kParallelOneNorm;
  decoder.qkv_bias = config.Flag("use_qkv_bias", false);
  decoder.out_bias = false;
  SetPartialRotation(config, "partial_rotary_factor", 0.25, decoder);
  return decoder;
}

DescribedNetwork Starcoder2(const ConfigReader& config) {
  DecoderConfig decoder = PlainDecoder(config);
  decoder.activation = ActivationOf(config, "gelu_pytorch_tanh");
  decoder.tied = config.Flag("tie_word_embeddings", true);
  SetBiases(decoder, config.Flag("use_bias", true));
  SetWindows(config, decoder, kEveryLayer);
  return decoder;
}

}  // namespace dlcost::networks
