#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "models/operators/common.h"
#include "models/operators/op_def.h"
#include "models/operators/value_ops.h"

namespace dlcost {

// Operations per output element, by class.
struct PerElement {
  int add = 0, mul = 0, div = 0, sqrt = 0, exp = 0, log = 0, trig = 0, compare = 0, convert = 0,
      integer = 0;
};

// `operations` times `elements`, done in `type`.
void AddPerElement(Work& work, const PerElement& operations, DType type, Count elements);

// Streams every operand and does `operations` for each element of output 0, in the type of input 0.
OpCost CostPerElement(const OpContext& ctx, const PerElement& operations);
// The same of an activation function.
OpCost CostActivation(const OpContext& ctx, const PerElement& operations);

// Inference of elementwise operators over inputs 0 and 1. From opset `numpy_since` on they
// broadcast as numpy does; before, input 1 is aligned at `axis` of input 0, and only if `broadcast`
// is set.
void InferBinary(OpContext& ctx, int numpy_since, DType output_type);
// The shape of input 1 as trailing-aligned broadcasting sees it, under either rule.
Shape AlignedShapeB(const OpContext& ctx, int numpy_since);

// An elementwise operator with one input, as its table lists it.
struct UnaryOp {
  std::string_view name;
  Versions since;
  std::string_view formula;
  PerElement operations;
  UnaryReal real = nullptr;    // null: values do not matter to shapes
  UnaryInt integer = nullptr;  // null: not defined on integers
  OpCase example = {};
  DType output = DType::kUndefined;  // kUndefined: as the input
  int removed_in = 0;
  bool activation = false;  // ElementwiseNest::activation
};

// An elementwise operator with two broadcast inputs.
struct BinaryOp {
  std::string_view name;
  Versions since;
  std::string_view formula;
  PerElement operations;
  BinaryReal real = nullptr;
  BinaryInt integer = nullptr;
  OpCase example = {};
  DType output = DType::kUndefined;
  int numpy_since = 7;
};

// The worked example of most elementwise operators: six elements of float32.
constexpr OpCase SixFloats(std::int64_t flops, std::string_view attributes = "") {
  return {.what = "6 elements",
          .attributes = attributes,
          .inputs = "f32[2,3]",
          .outputs = "f32[2,3]",
          .flops = flops,
          .bytes_read = 24,
          .bytes_written = 24};
}

// Tables become definitions: kOps of an operator file is MakeUnaryOps<kTable>().
template <const auto& kTable, std::size_t kIndex>
struct UnaryFunctions {
  static void Infer(OpContext& ctx) {
    if constexpr (kTable[kIndex].output != DType::kUndefined) {
      // The type first: it is known where the shape is not.
      ctx.SetOutputType(0, kTable[kIndex].output);
      ctx.SetOutput(0, kTable[kIndex].output, ctx.InputShape(0));
    } else {
      InferSameAsInput(ctx);
    }
  }
  static void Values(OpContext& ctx) { MapUnary(ctx, kTable[kIndex].real, kTable[kIndex].integer); }
  static OpCost Cost(const OpContext& ctx) {
    const UnaryOp& op = kTable[kIndex];
    return op.activation ? CostActivation(ctx, op.operations) : CostPerElement(ctx, op.operations);
  }
  static constexpr OpDef Def() {
    const UnaryOp& op = kTable[kIndex];
    return {.name = op.name,
            .since = op.since,
            .formula = op.formula,
            .infer = Infer,
            .values = op.real == nullptr && op.integer == nullptr ? nullptr : Values,
            .cost = Cost,
            .role = FusionRole::kElementwise,
            .cases = {&op.example, 1},
            .removed_in = op.removed_in};
  }
};

template <const auto& kTable, std::size_t kIndex>
struct BinaryFunctions {
  static void Infer(OpContext& ctx) {
    constexpr DType kFixed = kTable[kIndex].output;
    const DType type = kFixed != DType::kUndefined ? kFixed : ctx.InputType(0);
    InferBinary(ctx, kTable[kIndex].numpy_since, type);
  }
  static void Values(OpContext& ctx) {
    MapBinary(ctx, 0, 1, AlignedShapeB(ctx, kTable[kIndex].numpy_since), kTable[kIndex].real,
              kTable[kIndex].integer);
  }
  static OpCost Cost(const OpContext& ctx) {
    return CostPerElement(ctx, kTable[kIndex].operations);
  }
  static constexpr OpDef Def() {
    const BinaryOp& op = kTable[kIndex];
    return {.name = op.name,
            .since = op.since,
            .formula = op.formula,
            .infer = Infer,
            .values = Values,
            .cost = Cost,
            .role = FusionRole::kElementwise,
            .cases = {&op.example, 1}};
  }
};

template <const auto& kTable>
constexpr auto MakeUnaryOps() {
  return []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array{UnaryFunctions<kTable, kIndex>::Def()...};
  }
  (std::make_index_sequence<std::size(kTable)>{});
}

template <const auto& kTable>
constexpr auto MakeBinaryOps() {
  return []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array{BinaryFunctions<kTable, kIndex>::Def()...};
  }
  (std::make_index_sequence<std::size(kTable)>{});
}

}  // namespace dlcost
