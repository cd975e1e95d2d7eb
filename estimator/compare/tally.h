#pragma once

#include <optional>
#include <set>
#include <string>

#include "estimator/compare/join.h"

namespace dlcost {

template <typename T>
void Sum(std::optional<T>& into, const std::optional<T>& what) {
  if (what) into = into ? *into + *what : *what;
}

// Reads what was measured of a model: which FLOPs count, and how rows add up.
class Tally {
 public:
  explicit Tally(const Report& report);

  // FLOPs of the types that the model computes in. Kernels of other types execute a few of them all
  // the same: HFMA2 moves constants, fp64 computes sizes.
  std::optional<double> VectorFlops(const MeasuredKernel& kernel);
  // Adds `launches` of the kernel. `told`: its name is a kernel's and can be read as one.
  void Add(Measured& to, const MeasuredKernel& kernel, double launches, bool main);
  UnmatchedKernel Unmatched(const MeasuredKernel& kernel, double launches, std::string why);
  // Whether FLOPs were left out because the model has none of their type.
  bool foreign_types() const { return foreign_types_; }

 private:
  std::set<Metric> counted_;
  bool foreign_types_ = false;
};

// What the name of a row tells: that of a kernel. Rows that carry the label of a layer instead tell
// the family that the label begins with, and nothing of how it ran.
KernelName ToldBy(const MeasuredKernel& kernel);

// Why a kernel that no operator wants is there.
std::string WhyUnmatched(const MeasuredKernel& kernel, KernelFamily family);

}  // namespace dlcost
