#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "estimator/infer/value_graph.h"
#include "models/operators/op_cost.h"

namespace dlcost {

// Attention as exporters write it: two products with a softmax between them, scales, masks and
// casts on the scores, transposes, splits, repeated heads and cache updates on the operands.
struct AttentionMatch {
  std::vector<std::size_t> nodes;  // in execution order
  AttentionNest nest;
  bool spelled = true;  // in several operators, else it is one
  // By the model's code, as one function (CommonFactor, IsScaleOfCall) with a fused kernel.
  bool called = false;
  // Masks that follow from positions alone: the kernel computes them and does not read them.
  std::vector<ValueId> computed_masks;
  // Cache updates: the kernel appends the new keys and values in place.
  std::vector<std::size_t> cache_updates;
};

// The stored number that a product's operands are each multiplied by, the root of the scale: so
// exporters write a call of scaled_dot_product_attention, and a model's own code hardly does.
// nullopt where they are not; not a number (NaN) where it is known to nobody.
std::optional<double> CommonFactor(const ValueGraph& values, std::size_t product);
// Whether any product of the model has one.
bool CallsAttention(const ValueGraph& values);

class AttentionFinder {
 public:
  explicit AttentionFinder(const ValueGraph& values) : values_(values) {}

  // `softmax` are the nodes of one softmax, the last of which makes the probabilities.
  std::optional<AttentionMatch> Find(const std::vector<std::size_t>& softmax);
  // An Attention operator with what its kernel reads and writes in its stead: transpositions,
  // repeated heads, cache updates. None where there is nothing around it.
  std::optional<AttentionMatch> FindAround(std::size_t n) const;

 private:
  struct Search;

  bool FindProbabilitiesReader(Search& search) const;
  bool FindScores(ValueId value, int depth, Search& search) const;
  void AbsorbOperands(std::vector<ValueId> open, Search& search) const;
  bool AbsorbOperand(ValueId value, Search& search) const;
  void AbsorbOutput(Search& search) const;
  bool IsClosed(const Search& search) const;
  void AddMasks(const Search& search, AttentionMatch& match);
  bool IsCausalMask(ValueId mask);
  bool SearchCausal(ValueId mask) const;
  bool HasBias(const Search& search) const;

  const ValueGraph& values_;
  std::unordered_map<ValueId, bool> causal_;
};

}  // namespace dlcost
