#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimator/core/dtype.h"
#include "models/networks/builder.h"

namespace dlcost::networks {

// A decoder of rotary positions, in what its families differ: Llama, Mistral, Qwen, Gemma, Phi,
// DeepSeek, GPT-J, Falcon and others.

// Of whose feed-forward layers a token meets `active` of `count`, and one that all tokens share.
struct Experts {
  std::int64_t count = 0, active = 0, inner = 0;
  std::int64_t shared_inner = 0;  // 0: no shared one
  bool gated_share = false;       // the shared one is scaled by a sigmoid of the token
  bool normalized = false;        // the active ones' weights sum to one
  bool biases = false;            // of the router and of the experts
  // silu(x) * y, or x * sigmoid(alpha * x) * (y + beta) with x and y bounded by `limit` (0: free).
  float alpha = 1, beta = 0, limit = 0;
  std::string router = "gate";  // its name
};

// Multi-head latent attention: keys and values of all heads are made from one vector of `rank`
// numbers per position, and one key of `rotary` numbers that all heads share (DeepSeek-AI,
// "DeepSeek-V2", arXiv 2405.04434, section 2.1).
struct LatentAttention {
  std::int64_t query_rank = 0;  // 0: queries are made from the layer's input
  std::int64_t rank = 0;
  std::int64_t plain = 0, rotary = 0;  // numbers of a head's query and key
  std::int64_t value = 0;              // numbers of a head's value
};

struct DecoderLayer {
  std::int64_t window = 0;  // positions that a query sees, its own among them; 0: all before it
  bool experts = false;
};

enum class DecoderNorm { kRms, kLayer };

// How attention and feed-forward of a layer follow each other.
enum class Residual {
  kSequential,       // attention adds to the input, feed-forward to that
  kParallel,         // both read the input, each through a normalization of its own, and add to it
  kParallelOneNorm,  // both through the same one
};

struct DecoderConfig {
  std::int64_t width = 0, inner = 0, vocabulary = 0;
  std::int64_t heads = 0, kv_heads = 0, head_width = 0;
  std::int64_t rotary_width = 0;  // numbers of a head that are rotated
  std::vector<DecoderLayer> layers;
  std::optional<Experts> experts;
  std::optional<LatentAttention> latent;
  std::string activation = "silu";  // or "gelu", "gelu_tanh", "relu"
  DecoderNorm norm = DecoderNorm::kRms;
  Residual residual = Residual::kSequential;
  bool gated = true;  // feed-forward is down(activation(gate) * up), else down(activation(up))
  bool qkv_bias = false, out_bias = false, feed_forward_bias = false, logits_bias = false;
  bool joined = false;         // one product makes q, k and v, and one gate and value
  bool head_norms = false;     // of each head's query and key
  bool branch_norms = false;   // of what attention and feed-forward add
  bool scaled_input = false;   // the embedding times the root of the width
  bool tied = false;           // the embedding makes the logits too
  bool window_angles = false;  // layers with a window rotate by frequencies of their own
  float scores_cap = 0;        // scores are cap * tanh(score / cap); 0: as they are
  float logits_cap = 0;
  std::string note;     // what a reader of its costs has to know; "" nothing
  bool decode = false;  // one token and a cache of "past" positions, instead of a prompt
};

// Throws Error where sizes do not fit each other.
void Validate(const DecoderConfig& config);

// The network as a serialized ModelProto.
Network BuildDecoder(const std::string& name, const DecoderConfig& config, DType dtype);

// Its parts.

// Cosines and sines of position times frequency, [batch, sequence, half the rotated width] each.
struct Angles {
  Value cos, sin;
};
// x: [batch, sequence, width] to the same.
Value DecoderAttention(Builder& b, const Value& x, const Angles& angles, std::size_t layer,
                       const DecoderConfig& config);
Value DecoderFeedForward(Builder& b, const Value& x, std::size_t layer,
                         const DecoderConfig& config);

}  // namespace dlcost::networks
