#pragma once

#include "models/operators/op_context.h"
#include "models/operators/op_cost.h"

namespace dlcost {

// How an operator that generates text runs, around the subgraphs that it owns.
struct GenerationRun {
  Count steps;       // tokens that it appends
  Count rows;        // sequences at a time: batch * beams
  Count vocabulary;  // logits of a row
};

// What the operator itself does with the logits of every step and row, of `vocabulary` numbers
// each:
// - beam search: log-softmax, 1 addition of the beam's score and 1 comparison for the best per
// logit;
// - greedy search: 1 comparison per logit, less 1;
// - sampling: softmax, a sort of ceil(log2 v) comparisons per logit, a running sum, 1 draw.
// Bytes are those of its own operands; the logits are the decoder's output.
OpCost CostOfGeneration(const OpContext& ctx, const GenerationRun& run);

}  // namespace dlcost
