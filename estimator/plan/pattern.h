#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "estimator/infer/value_graph.h"

namespace dlcost {

// A small expression over operators that a compiler recognizes as one:
//
//     Mul(Mul(x, #), Add(Erf(Div|Mul(x, #)), #))
//
//   Op(a, b)   a node with that operator whose first inputs match; A|B allows either operator.
//              Inputs beyond the ones written do not matter.
//   x          any value; the same letter means the same value
//   d:Op(..)   names the value of a node
//   #          a value known before the run
//   _          any value, without a name
//
// Add and Mul match either way around. Views and casts between two nodes are looked through.
class Pattern {
 public:
  // Throws Error for text that does not follow the grammar.
  explicit Pattern(std::string_view text);

  // The nodes of a match that ends in node `root`, in execution order; empty when there is none.
  // Values inside the match have no readers outside, so that it can run as one kernel.
  std::vector<std::size_t> Match(const ValueGraph& values, std::size_t root) const;

  const std::vector<std::string>& root_operators() const { return terms_[0].operators; }

 private:
  enum class Kind { kOperator, kName, kConstant, kAny };
  struct Term {
    Kind kind = Kind::kAny;
    std::vector<std::string> operators;
    std::string name;                    // of a variable, or of the node's value; may be empty
    std::vector<std::size_t> arguments;  // indices into terms_
  };
  struct State;

  std::size_t Parse(std::string_view& text);
  bool MatchNode(const ValueGraph& values, const Term& term, std::size_t node, State& state) const;
  bool MatchValue(const ValueGraph& values, const Term& term, ValueId value, State& state) const;

  std::vector<Term> terms_;  // the first is the root
};

}  // namespace dlcost
