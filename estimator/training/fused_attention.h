#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/gradients/writer.h"

namespace dlcost {

struct AttentionFusion {
  // Whether attention of this type, `called` as one function, runs as one kernel; null: none does.
  std::function<bool(DType, bool called)> fuses;
  bool joins = false;              // attention in several nodes too
  DType half = DType::kUndefined;  // the type that mixed precision computes products in
  std::string recompute;           // see recompute.h: what is recomputed in part stays in parts
};

// Writes attention as the kernel that training runs it in (FusedAttention of dlcost.training),
// which keeps one number per row instead of scores and probabilities: a product, scale, masks,
// softmax, dropout and a product as exporters write them, with what only lays their operands out
// (transposes, heads repeated for groups, one product's queries, keys and values split), and
// Attention and MultiHeadAttention in one node. Attention with a mask that is trained, with a
// cache, or with other operators on its scores stays as it is.
void FuseAttention(NodeWriter& writer, const std::vector<TensorId>& parameters,
                   const AttentionFusion& options);

}  // namespace dlcost
