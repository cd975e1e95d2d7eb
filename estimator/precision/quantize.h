#pragma once

#include <vector>

#include "estimator/graph/graph.h"
#include "models/gradients/writer.h"

namespace dlcost {

// How servers of language models store weights, and compute the products with them.
struct Quantization {
  DType weight = DType::kUndefined;   // of stored weights; kUndefined: none is asked for
  DType operand = DType::kUndefined;  // what they meet; kUndefined: stays in half, weights widen
  std::int64_t block = 0;             // numbers along k that share a scale; 0: a whole tensor
  DType scale = DType::kUndefined;    // of blocks, as stored; kUndefined: as the half type
  bool experts_only = false;
  DType cache = DType::kUndefined;  // of keys and values; kUndefined: as the half type
};

// Writes QuantizeLinear and DequantizeLinear around the products with stored matrices, of experts
// too, of a graph in half types. Left out are the last product, whose results nothing multiplies
// (logits), and those that choose experts: what NVIDIA's Model Optimizer leaves out (lm_head,
// router). Caches that attention reads become narrow. `stored`: the floating-point weights. The
// nodes of the writer's graph are sorted.
void Quantize(NodeWriter& writer, const Quantization& quantization,
              const std::vector<TensorId>& stored);

}  // namespace dlcost
