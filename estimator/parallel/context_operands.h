#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "estimator/graph/graph.h"

namespace dlcost {

// An operand of attention, and which of its axes is the sequence.
struct SequenceOperand {
  std::size_t node = 0, input = 0;
  std::size_t axis = 0;
};

struct AttentionOperands {
  SequenceOperand queries;
  std::vector<SequenceOperand> gathered;  // keys, values
};

// Where attention over a sequence reads queries, keys and values: in one node (Attention,
// MultiHeadAttention, GroupQueryAttention) or around a softmax, with sinks beside the scores too.
std::vector<AttentionOperands> FindAttentionOperands(Graph& graph);

// Why there is none, for people: attention that is there and not split, by name.
std::string WhyNoAttention(const Graph& graph);

}  // namespace dlcost
