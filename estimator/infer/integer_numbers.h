#pragma once

#include <unordered_set>
#include <vector>

#include "estimator/infer/places.h"

namespace dlcost {

// Which integers are numbers that the run computes with (quantized weights, codes, zero points),
// and which only say where and how much (indices, shapes, masks). What an operator does with its
// inputs stands in its definition (IntegerInputs); what it passes on are numbers where somebody
// further on computes with them, or where 8 bits become reals on the way: a table of codes behind
// Gather, Reshape and Cast.
class IntegerNumbers {
 public:
  explicit IntegerNumbers(const Places& places);
  bool Has(const Tensor* identity) const { return numbers_.count(identity) != 0; }

 private:
  bool IsRead(const ReadingNode& reader, std::size_t input, const Tensor& tensor) const;
  void Mark(Place place);
  void PassBack(Place place);

  const Places& places_;
  std::unordered_set<const Tensor*> numbers_;  // by identity
  std::vector<Place> stack_;
};

}  // namespace dlcost
