#pragma once

#include <string>
#include <vector>

#include "estimator/graph/graph.h"

namespace dlcost {

// Stored tensors that exporters computed before the run, and that no framework trains. Which they
// are shows in how they are used alone, as weights are never read.
struct Tables {
  // Added to scores right before a softmax, alike for all of several heads, or, where their numbers
  // are known, nothing but zeros and minus infinities. What differs by head is a bias, which trains
  // (T5, BEiT).
  std::vector<TensorId> masks;
  // Cosines and sines of positions, the angles, and the frequencies behind them: x c + r s, where r
  // is x with its halves changed over and one of them negated.
  std::vector<TensorId> rotations;
  // Added to the scores of a single head: a mask, or a bias that trains (Swin's first stages).
  std::vector<TensorId> unclear;
};

// Of `parameters`; those that have any other use are none of them.
Tables FindTables(Graph& graph, const std::vector<TensorId>& parameters);

// Takes masks and rotations out of the parameters. Notes say which, and what is unclear.
std::vector<std::string> LeaveTables(Graph& graph, std::vector<TensorId>& parameters);

}  // namespace dlcost
