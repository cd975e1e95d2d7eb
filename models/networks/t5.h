#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estimator/core/dtype.h"
#include "models/networks/builder.h"
#include "models/networks/layers.h"

namespace dlcost::networks {

// The encoder-decoder of Raffel et al., "Exploring the limits of transfer learning with a unified
// text-to-text transformer", arXiv 1910.10683, and its kin: no biases, RMS normalization before
// each branch, and scores that are not scaled but have a learned bias per head and bucket of
// distances, which the first layer's attention makes for all.

// What is built of it. Dimensions are "batch", "source" tokens, "target" tokens and "past" ones.
enum class T5Phase {
  kPrefill,  // the encoder over the source and the decoder over the target
  kEncoder,  // the encoder alone
  kDecoder,  // the decoder over the target, whose attention projects an encoded source
  kDecode,   // one token of the decoder, with the keys and values of source and past tokens
};
inline const std::vector<std::string> kT5Phases = {"prefill", "encoder", "decoder", "decode"};

struct T5Config {
  std::int64_t width = 0, inner = 0, vocabulary = 0;
  std::int64_t heads = 0, head_width = 0;
  std::int64_t encoder_layers = 0, decoder_layers = 0;
  std::int64_t buckets = 32, distance = 128;  // where the last bucket begins
  std::string activation = "relu";            // of the feed-forward layers, as Activate() has it
  bool gated = false;
  bool tied = true;              // the embedding makes the logits too, of what the root divided
  bool biases_by_layer = false;  // every layer's self-attention has a table of its own
  bool dropout = false;
  std::string note;  // what a reader of its costs has to know; "" nothing

  // Of attention over all heads, which need not be as wide together as the model.
  AttentionSpec attention() const {
    return {.width = heads * head_width,
            .heads = heads,
            .bias = false,
            .dropout = dropout,
            .scaled = false};
  }
};

// The phase that `name` of kT5Phases means.
T5Phase T5PhaseOf(const std::string& name);

Network BuildT5Network(const std::string& name, const T5Config& config, T5Phase phase, DType dtype);

// Its parts.

// A learned bias for each head and distance of a key from a query, [1, heads, queries, keys]. The
// queries are the last of the keys; `queries` and `keys` are one-dimensional, how many there are.
// Keys behind the query have buckets of their own where `both_ways`.
Value RelativeBias(Builder& b, const Value& queries, const Value& keys, bool both_ways,
                   const T5Config& config);
// x: [batch, sequence, width] to the same: what the layer adds to it.
Value T5FeedForward(Builder& b, const Value& x, const T5Config& config);

}  // namespace dlcost::networks
