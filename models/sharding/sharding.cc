#include "models/sharding/sharding.h"

#include <array>
#include <map>

namespace dlcost {
namespace {

const ShardingDef* FindRule(std::string_view domain, std::string_view name) {
  static const auto kRules = [] {
    std::map<std::pair<std::string_view, std::string_view>, const ShardingDef*> rules;
    const std::array families = {
        ProductShardings(),     MovementShardings(), NormalizationShardings(), AttentionShardings(),
        ConvolutionShardings(), ExpertShardings(),   CollectiveShardings()};
    for (const std::span<const ShardingDef> family : families) {
      for (const ShardingDef& def : family) rules.emplace(std::pair(def.domain, def.name), &def);
    }
    return rules;
  }();
  const auto found = kRules.find({domain, name});
  return found == kRules.end() ? nullptr : found->second;
}

void Pointwise(ShardingContext& c) {
  for (std::size_t o = 0; o < c.NumOutputs(); ++o) {
    for (std::size_t i = 0; i < c.NumInputs(); ++i) {
      if (c.Has(i)) c.Align(i, o);
    }
  }
}

bool KeepsElements(const OpContext& op) {
  return op.InputShapeKnown(0) && op.HasOutput(0) && op.Output(0).type.shape &&
         op.InputShape(0).Elements() == op.OutputShape(0).Elements();
}

// The elements stay in their order: axes are divided and joined.
void View(ShardingContext& c) {
  Axis rest;
  for (std::size_t a = 0; a < c.Rank(0); ++a) {
    rest.insert(rest.end(), c.In(0, a).begin(), c.In(0, a).end());
  }
  for (std::size_t a = 0; a < c.OutRank(0); ++a) {
    auto [axis, behind] = c.factors().Divide(rest, c.OutSize(0, a));
    c.Out(0, a, std::move(axis));
    rest = std::move(behind);
  }
}

}  // namespace

ShardingContext::ShardingContext(Factors& factors, const OpContext& op, std::vector<Axes> inputs)
    : factors_(factors), op_(op) {
  sharding_.inputs = std::move(inputs);
  for (int o = 0; o < op.NumOutputs(); ++o) {
    const std::size_t rank =
        op.HasOutput(o) && op.Output(o).type.shape ? op.OutputShape(o).rank() : 0;
    sharding_.outputs.emplace_back(rank);
    set_.emplace_back(rank, false);
  }
}

const Axis& ShardingContext::In(std::size_t input, std::size_t axis) const {
  return sharding_.inputs.at(input).at(axis);
}

std::int64_t ShardingContext::OutSize(std::size_t output, std::size_t axis) const {
  return op_.OutputShape(static_cast<int>(output))[axis];
}

void ShardingContext::Out(std::size_t output, std::size_t axis, Axis is) {
  if (output >= set_.size() || axis >= set_[output].size()) return;
  if (set_[output][axis]) {
    Tie(sharding_.outputs[output][axis], is);
  } else {
    sharding_.outputs[output][axis] = std::move(is);
    set_[output][axis] = true;
  }
}

void ShardingContext::Align(std::size_t input, std::size_t output) {
  const std::size_t in = Rank(input), out = OutRank(output);
  for (std::size_t a = 0; a < in && a < out; ++a) {
    const Axis& axis = In(input, in - 1 - a);
    const std::int64_t size = OutSize(output, out - 1 - a);
    if (factors_.SizeOf(axis) == size) Out(output, out - 1 - a, axis);
  }
}

void ShardingContext::WholeInputs() {
  for (const Axes& axes : sharding_.inputs) {
    for (const Axis& axis : axes) Whole(axis);
  }
}

NodeSharding ShardingContext::Take() {
  for (std::size_t o = 0; o < set_.size(); ++o) {
    for (std::size_t a = 0; a < set_[o].size(); ++a) {
      if (set_[o][a]) continue;
      sharding_.outputs[o][a] = factors_.New(OutSize(o, a));
      Whole(sharding_.outputs[o][a]);
    }
  }
  return std::move(sharding_);
}

NodeSharding ShardingOf(Factors& factors, const OpContext& op, const OpDef* def,
                        std::vector<Axes> inputs) {
  ShardingContext context(factors, op, std::move(inputs));
  const ShardingDef* rule = FindRule(op.node().domain, op.node().op);
  if (rule != nullptr) {
    rule->write(context);
  } else if (def != nullptr && def->role == FusionRole::kElementwise) {
    Pointwise(context);
  } else if (def != nullptr && def->role == FusionRole::kView && KeepsElements(op)) {
    View(context);
  } else {
    context.WholeInputs();
  }
  return context.Take();
}

}  // namespace dlcost
