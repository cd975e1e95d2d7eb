#include "models/networks/config_decoder.h"

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/core/spelling.h"

namespace dlcost::networks {
namespace {

constexpr std::int64_t kMostLayers = 4096;

}  // namespace

std::string ActivationNamed(const std::string& name, const std::string& key) {
  if (name == "silu" || name == "swish") return "silu";
  if (name == "gelu_pytorch_tanh" || name == "gelu_new" || name == "gelu_fast") return "gelu_tanh";
  if (name == "gelu" || name == "relu") return name;
  throw Error("{}: no network is built with '{}'", key, Printable(name));
}

std::string ActivationOf(const ConfigReader& config, const std::string& otherwise) {
  return ActivationNamed(config.Text("hidden_activation", config.Text("hidden_act", otherwise)),
                         "hidden_act");
}

std::size_t LayersOf(const ConfigReader& config, const std::string& key) {
  const std::int64_t layers = config.Size(key);
  if (layers > kMostLayers) throw Error("{}: more than {} layers", key, kMostLayers);
  return static_cast<std::size_t>(layers);
}

DecoderConfig DecoderOf(const ConfigReader& config) {
  if (config.Flag("use_bidirectional_attention", false)) {
    throw Error("use_bidirectional_attention: only decoders that look back are built");
  }
  DecoderConfig decoder;
  decoder.width = config.Size("hidden_size");
  decoder.inner = config.Size("intermediate_size");
  decoder.vocabulary = config.Size("vocab_size");
  decoder.heads = config.Size("num_attention_heads");
  decoder.kv_heads = config.Size("num_key_value_heads", decoder.heads);
  decoder.layers.resize(LayersOf(config, "num_hidden_layers"));
  decoder.activation = ActivationOf(config, "silu");
  decoder.tied = config.Flag("tie_word_embeddings", false);
  decoder.qkv_bias = decoder.out_bias = config.Flag("attention_bias", false);
  return decoder;
}

void SetHeads(const ConfigReader& config, DecoderConfig& decoder) {
  if (!config.Has("head_dim") && decoder.width % decoder.heads != 0) {
    throw Error("hidden_size {} does not split into {} heads", decoder.width, decoder.heads);
  }
  decoder.head_width = config.Size("head_dim", decoder.width / decoder.heads);
  decoder.rotary_width = decoder.head_width;
}

void SetPartialRotation(const ConfigReader& config, const std::string& key, double otherwise,
                        DecoderConfig& decoder) {
  const double turned = config.Inner("rope_parameters")
                            .Number("partial_rotary_factor", config.Number(key, otherwise));
  if (!(turned > 0 && turned <= 1)) throw Error("{}: {} of a head", key, turned);
  decoder.rotary_width = Truncate(turned * static_cast<double>(decoder.head_width));
}

void SetWindows(const ConfigReader& config, DecoderConfig& decoder,
                const std::function<bool(std::size_t)>& has_window) {
  if (!config.Has("sliding_window")) return;
  const std::int64_t window = config.Count("sliding_window");
  const std::vector<std::string> types = config.Texts("layer_types");
  if (!types.empty() && types.size() != decoder.layers.size()) {
    throw Error("layer_types: {} of them for {} layers", types.size(), decoder.layers.size());
  }
  for (std::size_t i = 0; i < decoder.layers.size(); ++i) {
    if (!types.empty() && types[i] != "sliding_attention" && types[i] != "full_attention") {
      throw Error("layer_types: no layer is built with '{}'", Printable(types[i]));
    }
    const bool windowed = types.empty() ? has_window(i) : types[i] == "sliding_attention";
    if (windowed) decoder.layers[i].window = window;
  }
}

}  // namespace dlcost::networks
