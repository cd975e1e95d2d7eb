#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/operators/op_context.h"
#include "models/operators/op_def.h"
#include "models/sharding/factors.h"

namespace dlcost {

using Axes = std::vector<Axis>;  // of a tensor

// How the axes of a node's operands belong together.
struct NodeSharding {
  std::vector<Axes> inputs, outputs;
  // Summed over: where it is split, every device has a part of each sum.
  std::vector<Axis> summed;
  // Must not be split: what is computed needs all of it.
  std::vector<Axis> whole;
  // Attributes that count an axis: heads, groups.
  std::vector<std::pair<std::string, Axis>> counts;
};

// One node, as the rule of its operator sees it.
class ShardingContext {
 public:
  // `inputs`: the axes of each input. `node` is to have shapes.
  ShardingContext(Factors& factors, const OpContext& op, std::vector<Axes> inputs);

  const OpContext& op() const { return op_; }
  Factors& factors() { return factors_; }
  std::size_t NumInputs() const { return sharding_.inputs.size(); }
  std::size_t NumOutputs() const { return sharding_.outputs.size(); }
  bool Has(std::size_t input) const { return op_.HasInput(static_cast<int>(input)); }
  std::size_t Rank(std::size_t input) const { return sharding_.inputs[input].size(); }
  const Axis& In(std::size_t input, std::size_t axis) const;
  // The axis of an output. One that the rule sets nowhere is an axis of its own that stays whole.
  void Out(std::size_t output, std::size_t axis, Axis is);
  std::size_t OutRank(std::size_t output) const { return sharding_.outputs[output].size(); }
  std::int64_t OutSize(std::size_t output, std::size_t axis) const;
  void Tie(const Axis& a, const Axis& b) { factors_.Tie(a, b); }
  void Sum(const Axis& axis) { sharding_.summed.push_back(axis); }
  void Whole(const Axis& axis) { sharding_.whole.push_back(axis); }
  void Count(std::string attribute, const Axis& axis) {
    sharding_.counts.emplace_back(std::move(attribute), axis);
  }
  // Nothing of the inputs may be split.
  void WholeInputs();
  // Axes of `input` from `first` on, aligned at the last ones of output 0, where neither is
  // repeated: numpy's broadcasting.
  void Align(std::size_t input, std::size_t output = 0);

  NodeSharding Take();

 private:
  Factors& factors_;
  const OpContext& op_;
  NodeSharding sharding_;
  std::vector<std::vector<bool>> set_;
};

// Which splits of an operator's axes are local, and which leave sums to exchange.
struct ShardingDef {
  std::string_view name;
  void (*write)(ShardingContext&) = nullptr;
  std::string_view domain = "";
};

// The rule of an operator: its own, else that of its role (pointwise operators follow their inputs,
// views keep the order of elements), else that everything stays whole.
NodeSharding ShardingOf(Factors& factors, const OpContext& op, const OpDef* def,
                        std::vector<Axes> inputs);

// One function per file of rules; sharding.cc lists them all.
std::span<const ShardingDef> ProductShardings();
std::span<const ShardingDef> MovementShardings();
std::span<const ShardingDef> NormalizationShardings();
std::span<const ShardingDef> AttentionShardings();
std::span<const ShardingDef> ConvolutionShardings();
std::span<const ShardingDef> ExpertShardings();
std::span<const ShardingDef> CollectiveShardings();

}  // namespace dlcost
