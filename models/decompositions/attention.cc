#include "models/decompositions/decomposition.h"

namespace dlcost {
namespace {

constexpr std::string_view kSoftmax[] = {"softmax_precision"};

// Without graphs that change scores or probabilities, ONNX's Attention over heads.
void WriteFlexAttention(FusedNode& f) {
  if (f.context().HasAttribute("score_mod") || f.context().HasAttribute("prob_mod")) {
    throw Unresolved("graphs over scores have no derivative here");
  }
  f.Set(0, f.w().Node1("Attention", {f.X(0), f.X(1), f.X(2)}, f.AttributesWithout(kSoftmax)));
}

constexpr Decomposition kAttentionDecompositions[] = {
    {"FlexAttention", WriteFlexAttention, "ai.onnx.preview"}};

}  // namespace

std::span<const Decomposition> AttentionDecompositions() { return kAttentionDecompositions; }

}  // namespace dlcost
