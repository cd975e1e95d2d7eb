#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "estimator/core/dtype.h"
#include "estimator/core/units.h"

namespace dlcost {

// Classes of operations. `integer` is arithmetic on integers and booleans outside
// multiply-accumulates (index computations, bitwise and logic operators); `log` includes powers
// (x^y = exp(y log x) counts one exp and one log); `trig` is every trigonometric and hyperbolic
// function and erf; `sqrt` includes reciprocal square roots.
enum class OpClass {
  kMac,
  kAdd,
  kMul,
  kDiv,
  kSqrt,
  kExp,
  kLog,
  kTrig,
  kCompare,
  kConvert,
  kInteger
};
inline constexpr int kOpClassCount = 11;
std::string_view Name(OpClass op_class);

// How many operations of each class, per data type that they are done in.
class Work {
 public:
  struct Entry {
    DType dtype;
    std::array<Count, kOpClassCount> counts;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  // Integer element types go to `integer` unless op_class is kMac, kCompare or kConvert, so that a
  // family can write Add(kAdd, type, n) for any type and integer arithmetic never becomes a FLOP.
  // A complex add is two real ones, a complex multiply four multiplies and two adds, a complex MAC
  // four real MACs.
  void Add(OpClass op_class, DType dtype, Count count);
  void Add(const Work& other);
  void Scale(Count factor);

  Count Of(OpClass op_class) const;  // over all types
  Count Of(OpClass op_class, DType dtype) const;
  // Everything but multiply-accumulates.
  Work WithoutMacs() const;
  Macs macs() const { return Macs(Of(OpClass::kMac)); }
  bool empty() const { return entries_ == nullptr; }
  // In the order in which types were first added.
  std::span<const Entry> entries() const { return {entries_.get(), empty() ? 0 : size_}; }

  // Whether both say the same, types in the same order.
  friend bool operator==(const Work& a, const Work& b);
  std::size_t Hash() const;

 private:
  // This work's own entry for a type, new where there was none.
  Entry& Own(DType dtype);
  // This work's own entries, with room for `more` others behind them.
  std::span<Entry> OwnAll(std::size_t more);

  // Shared between copies until one of them changes: a node's work is told again by its kernel and
  // by the rows of both in the report. Null when there is none.
  std::shared_ptr<Entry[]> entries_;
  std::size_t size_ = 0;
};

// Makes equal works share their entries: most nodes of a large model do what another one did just
// before.
class RecentWork {
 public:
  void Share(Work& work);

 private:
  std::array<Work, 64> recent_;  // each where its hash says
};

// A counting convention is a table of weights over the classes.
struct Convention {
  std::string_view name;
  std::string_view description;
  std::array<int, kOpClassCount> weights;
};
// Every known convention; the first is the default, "dlcost".
const std::vector<Convention>& Conventions();
// Throws Error with the nearest spelling.
const Convention& FindConvention(std::string_view name);
Flops CountFlops(const Work& work, const Convention& convention);

}  // namespace dlcost
