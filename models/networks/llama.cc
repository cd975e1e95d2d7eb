#include "estimator/core/error.h"
#include "models/networks/decoder.h"
#include "models/networks/families.h"

namespace dlcost::networks {

// A decoder as in Grattafiori et al., "The Llama 3 herd of models", arXiv 2407.21783, table 3.
// phase=prefill reads a prompt; phase=decode makes one token with a key-value cache.
Network BuildLlama(const std::string& name, const Options& options) {
  DecoderConfig config;
  config.width = options.Size("width");
  config.inner = options.Size("inner");
  config.heads = options.Size("heads");
  config.kv_heads = options.Size("kv_heads");
  config.vocabulary = options.Size("vocabulary");
  config.layers.resize(static_cast<std::size_t>(options.Size("layers")));
  config.decode = options.Choice("phase", {"prefill", "decode"}) == "decode";
  if (config.width % (2 * config.heads) != 0 || config.heads % config.kv_heads != 0) {
    throw Error("network {}: width {} must be a multiple of 2 x heads {}, and heads of kv_heads {}",
                name, config.width, config.heads, config.kv_heads);
  }
  config.head_width = config.rotary_width = config.width / config.heads;
  return BuildDecoder(name, config, options.Type());
}

}  // namespace dlcost::networks
