#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "models/operators/op_context.h"
#include "models/operators/op_cost.h"

namespace dlcost {

// The opset versions at which an operator's definition changed, ascending.
struct Versions {
  static constexpr std::size_t kMost = 14;
  std::array<int, kMost> values{};
  std::size_t size = 0;

  constexpr Versions(std::initializer_list<int> versions) : size(versions.size()) {
    std::size_t i = 0;
    for (const int version : versions) values[i++] = version;
  }
  constexpr const int* begin() const { return values.data(); }
  constexpr const int* end() const { return values.data() + size; }
};

// What a kernel planner may do with an operator.
enum class FusionRole {
  kOpaque,         // a kernel of its own
  kAnchor,         // a matrix product or convolution: takes an epilogue
  kElementwise,    // pointwise: joins a chain or an epilogue
  kReduction,      // reduces axes: Reduce*, Softmax, pooling
  kNormalization,  // reduction followed by pointwise over the same data
  kMovement,       // rearranges or selects data: Transpose, Concat, Slice, Gather
  kView,           // moves nothing
};

// Operators that own subgraphs; the inference driver runs those, not the operator's own functions.
enum class ControlFlow { kNone, kIf, kLoop, kScan, kSequenceMap, kGeneration };

// How an operator reads integers that the file stores: they may be quantized numbers, which are
// weights, or indices, shapes and masks, which are none. Bit i is input i, the last bit stands for
// every input from there on. Integers of at most 8 bits in an input that is neither are numbers
// (nobody stores indices so), wider ones are none.
struct IntegerInputs {
  std::uint32_t computed = 0;  // numbers of any width: quantized data, biases, zero points
  std::uint32_t passed = 0;    // elements that come out again: numbers where the outputs are

  constexpr bool Computes(std::size_t input) const { return Has(computed, input); }
  constexpr bool Passes(std::size_t input) const { return Has(passed, input); }

 private:
  static constexpr bool Has(std::uint32_t set, std::size_t input) {
    return ((set >> (input < 31 ? input : 31)) & 1U) != 0;
  }
};
inline constexpr std::uint32_t kEveryInput = ~std::uint32_t{0};
constexpr std::uint32_t InputSet(std::initializer_list<int> inputs) {
  std::uint32_t set = 0;
  for (const int input : inputs) set |= std::uint32_t{1} << input;
  return set;
}

// A worked example, counted by hand: drives the unit test and the generated operator table.
struct OpCase {
  std::string_view what;
  // "kernel_shape=[3,3] group=2 mode='linear' alpha=0.5"; a tensor attribute as "value=f32[1]{0}".
  std::string_view attributes;
  // "f32[1,64,56,56] f32[64,64,3,3] _": shapes, `_` omits an optional input, "i64[2]{1,-1}" has a
  // known value, "w:f32[8,8]" is a weight, "seq:f32([2,3];[4,3])" a sequence and "opt:f32([2])" an
  // optional with these elements.
  std::string_view inputs;
  std::string_view outputs;  // the same; a value given here is checked against the propagated one
  std::int64_t macs = 0;
  std::int64_t flops = 0;  // in the default convention, 2 * macs included
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  int opset = 0;  // 0: the newest version of the operator
};

// Everything there is to know about an operator.
struct OpDef {
  std::string_view name;
  std::string_view domain = "";
  Versions since = {1};
  std::string_view
      formula;  // for the operator table: "MACs = N * Cout * prod(out) * Cin/group * prod(kernel)"
  // Sets type and shape of every output. Throws Error for inputs that contradict the specification,
  // Unresolved (through the context's accessors) when a shape or value it needs is not known.
  void (*infer)(OpContext&) = nullptr;
  // Optional: sets output values from input values. Called after infer, only for outputs of at most
  // kMaxValueElements. Leaves outputs without a value when an input it needs has none.
  void (*values)(OpContext&) = nullptr;
  // Mandatory. Called when all shapes are known.
  OpCost (*cost)(const OpContext&) = nullptr;
  FusionRole role = FusionRole::kOpaque;
  std::span<const OpCase> cases = {};
  int removed_in = 0;   // first opset without the operator, 0: never removed
  bool random = false;  // differs from run to run: never folded, even when all inputs are constant
  ControlFlow control = ControlFlow::kNone;
  std::optional<IntegerInputs> integers = {};  // where the role does not tell: IntegersOf
  // Optional: how many numbers input i holds, where it is not one per element (packed weights);
  // nullopt for an input that is not packed. Called when the types of the inputs are known.
  std::optional<Count> (*packed)(const OpContext&, int input) = nullptr;
};

// Products compute with all of their operands, pointwise operators pass all of them on, movements
// and views the first.
constexpr IntegerInputs IntegersOf(const OpDef& def) {
  if (def.integers) return *def.integers;
  switch (def.role) {
    case FusionRole::kAnchor:
      return {.computed = kEveryInput};
    case FusionRole::kElementwise:
      return {.passed = kEveryInput};
    case FusionRole::kMovement:
    case FusionRole::kView:
      return {.passed = InputSet({0})};
    default:
      return {};
  }
}

}  // namespace dlcost
