#pragma once

#include <array>
#include <string_view>

#include "models/algorithms/gemm.h"

namespace dlcost {

struct AttentionOptions {
  Pipe pipe = Pipe::kVector;
  DType type = DType::kFloat32;
  Count split_kv = 1;  // thread blocks that share the keys of one block of queries
  bool pack = true;    // heads that share keys and values into one tile, where they fit
  TileShape tile;      // of the products of the materialized form
  const AttentionConstants* kernels = nullptr;  // whose fused kernel; nullptr: the library's
};

// softmax(Q K^T) V in one kernel: scores live in registers, tile by tile, with a running maximum.
// Tiles that a causal mask hides altogether are skipped. When there are few queries, the query
// heads that share a key-value head are packed into one tile.
Execution FlashAttention(const AttentionNest& nest, const AttentionOptions& options,
                         const Library& library);

// The products of the way back, in order: scores again, dP = dY V', dV = P' dY, dQ = dS K, dK = dS'
// Q.
struct BackwardProduct {
  std::string_view name;
  GemmNest nest;
};
std::array<BackwardProduct, 5> BackwardProducts(const AttentionNest& nest);

// What is done with every score on the way back, for operands of `type`: P = exp(S scale - lse), dS
// = P (dP - delta) scale. In float32 at least.
Term GradientOfScores(const AttentionNest& nest, DType type);

// The same as two products with a softmax between them; scores and probabilities are written and
// read, masked or not.
Execution MaterializedAttention(const AttentionNest& nest, const AttentionOptions& options,
                                const Library& library);

// The same without the keys of a cache that lie before every query's window.
AttentionNest WithoutUnseenKeys(AttentionNest nest);

// Score positions, of a head, that the mask leaves: query i of q sees kv - q + i + 1 keys, or a
// window of them.
Count VisibleScores(const AttentionNest& nest);

// Fewer queries than a tile packs to is called decoding, anything else prefill.
enum class SequencePhase { kPrefill, kDecode };
SequencePhase PhaseOf(const AttentionNest& nest);
std::string_view Name(SequencePhase phase);  // "prefill", "decode"

}  // namespace dlcost
