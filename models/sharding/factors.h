#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dlcost {

// What the axes of tensors consist of. The columns of a projection become heads times head width
// when they are reshaped; queries, keys and values that leave one product are a sum of axes. Who
// splits one factor among devices splits it in every tensor that has it (as the factors of
// operators' sharding rules in OpenXLA's Shardy do).
using FactorId = std::int32_t;
using Axis = std::vector<FactorId>;  // from major to minor; none: of size 1

class Factors {
 public:
  // An axis of its own.
  Axis New(std::int64_t size);
  // Both are the same axis. Where neither divides into the other, no factor of them can be split.
  void Tie(const Axis& a, const Axis& b);
  // `axis` as `major` times the rest; where it does not divide so, axes of their own, and no factor
  // of `axis` can be split.
  std::pair<Axis, Axis> Divide(const Axis& axis, std::int64_t major);
  // `axis` consists of the parts, one behind the other.
  void Concatenate(const Axis& axis, const std::vector<Axis>& parts);

  // The factors that nothing divides further, and sums, from major to minor.
  Axis Terms(const Axis& axis) const;
  // The factors that nothing divides further, those in sums too, each once.
  std::vector<FactorId> Leaves(const Axis& axis) const;
  // The same behind `leaves`, without those that are among them.
  void AddLeaves(const Axis& axis, std::vector<FactorId>& leaves) const;
  // The axes that a term is the sum of; none where it is no sum.
  std::vector<Axis> PartsOf(FactorId term) const { return at(term).sum; }
  std::int64_t SizeOf(const Axis& axis) const;
  bool blocked(FactorId leaf) const { return at(leaf).blocked; }

  // The axis on one of `ways` devices among which the factors `split` are divided: its size, and
  // whether it is divided. Of a sum every part has to be, and of an axis one factor.
  struct Part {
    std::int64_t size = 1;
    int splits = 0;     // factors of the axis that are divided
    bool whole = true;  // every sum is divided in all parts or in none
    bool even = true;   // and sizes divide
  };
  Part PartOf(const Axis& axis, const std::set<FactorId>& split, std::int64_t ways) const;

 private:
  struct Factor {
    std::int64_t size = 1;
    FactorId same_as = -1;
    Axis product;           // of these, where it is not empty
    std::vector<Axis> sum;  // of these, where it is not empty
    bool blocked = false;
  };
  FactorId Find(FactorId id) const;
  template <typename Use>
  void ForEachTerm(const Axis& axis, const Use& use) const;
  const Factor& at(FactorId id) const { return factors_[static_cast<std::size_t>(Find(id))]; }
  Factor& at(FactorId id) { return factors_[static_cast<std::size_t>(Find(id))]; }
  void Block(const Axis& axis);
  bool DivideFactor(FactorId id, std::int64_t major);
  void Unite(FactorId a, FactorId b);

  void CountStep() const;

  mutable std::vector<Factor> factors_;  // Find shortens the ways to what is the same
  mutable std::int64_t steps_ = 0;
};

}  // namespace dlcost
