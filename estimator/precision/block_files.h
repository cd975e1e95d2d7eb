#pragma once

#include <string_view>
#include <vector>

#include "models/gradients/writer.h"

namespace dlcost {

// A type of ggml's that stores rows of a matrix in blocks (ggml/src/ggml-common.h).
struct BlockType {
  std::string_view name;
  int numbers, bytes;  // of a block, scales included
  int bits;            // of one number, its scale left out
  int scaled;          // numbers that share a scale
};

// What a GGUF file of one kind stores its matrices in (llama.cpp, src/llama-quant.cpp,
// llama_tensor_get_type).
struct BlockMix {
  BlockType most;
  BlockType more;    // some layers' values and products back from the wide layer; as `most`: none
  BlockType joined;  // query, key and value in one matrix
  BlockType last;    // logits, and embeddings that are logits as well
};

// The kinds by their names in lower case: q4_0, q8_0, q4_k_m, q5_k_m, q6_k; null: none.
const BlockMix* FindBlockMix(std::string_view name);

// Stores all matrices of a graph in halves as such a file does: products read them packed
// (MatMulNBits), embeddings are packed too (GatherBlocks). Rows that are no multiple of a block are
// stored in blocks of 32, where llama.cpp does so. `stored`: the floating-point weights. Throws
// Error for experts, whose types depend on layers. The nodes of the writer's graph are sorted.
void PackInBlocks(NodeWriter& writer, const BlockMix& mix, const std::vector<TensorId>& stored);

}  // namespace dlcost
