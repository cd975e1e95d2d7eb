#pragma once

#include "estimator/parallel/rank_graph.h"

namespace dlcost {

// Attention that reads queries, keys and values as one tensor (com.microsoft GroupQueryAttention
// [batch, length, (heads + 2 * kv heads) * width], MultiHeadAttention [batch, length, heads, 3,
// width]) or keys and values as one ([batch, length, heads, 2, width]) reads them apart: who splits
// the sequence sends keys and values alone. The copies that take them apart are nodes before it.
void UnpackAttention(RankGraph& rank);

}  // namespace dlcost
