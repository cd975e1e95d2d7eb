#include "estimator/plan/stack_products.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "estimator/plan/units.h"

namespace dlcost {
namespace {

class ProductStacker {
 public:
  ProductStacker(const ValueGraph& values, FusionSet fuses, std::vector<Group>& groups,
                 std::vector<std::size_t>& group_of)
      : values_(values), fuses_(fuses), groups_(groups), group_of_(group_of) {}

  void Run() {
    std::unordered_map<ValueId, std::vector<std::size_t>> by_operand;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const ValueId operand = OnlyOperand(groups_[g]);
      if (operand != kNoValue) by_operand[operand].push_back(g);
    }
    for (const auto& [operand, groups] : by_operand) {
      if (!fuses_.Has(FusionStep::kParallel) && groups.size() != kProjections) continue;
      const Group& first = groups_[groups.front()];
      for (std::size_t i = 1; i < groups.size(); ++i) {
        const Group& other = groups_[groups[i]];
        if (other.stacked.empty() && Stacks(first.main, other.main)) {
          Stack(groups.front(), groups[i]);
        }
      }
    }
  }

 private:
  // The operand that a matrix product shares with others: all that the group reads but what it
  // makes and what is stored. kNoValue where it reads more, or has no stored factor.
  ValueId OnlyOperand(const Group& group) const {
    const auto* nest = std::get_if<GemmNest>(&values_.node(group.main).cost.nest);
    if (group.kind != KernelKind::kProduct || nest == nullptr) return kNoValue;
    if (values_.NumInputs(group.main) < 2) return kNoValue;
    const ValueId weight = values_.Input(group.main, 1);
    if (weight == kNoValue || !values_.IsConstant(weight)) return kNoValue;
    const ValueId operand = values_.Input(group.main, 0);
    for (const std::size_t n : group.nodes) {
      for (std::size_t i = 0; i < values_.NumInputs(n); ++i) {
        const ValueId value = values_.Input(n, i);
        if (value == kNoValue || value == operand || values_.IsConstant(value)) continue;
        const auto maker = values_.Producer(value);
        if (maker == ValueGraph::kNoNode ||
            group_of_[static_cast<std::size_t>(maker)] != group_of_[group.main]) {
          return kNoValue;
        }
      }
    }
    return operand == kNoValue || values_.IsConstant(operand) ? kNoValue : operand;
  }

  bool Stacks(std::size_t a, std::size_t b) const {
    const auto& first = std::get<GemmNest>(values_.node(a).cost.nest);
    const auto& second = std::get<GemmNest>(values_.node(b).cost.nest);
    return MayShareKernel(values_, a, b) && values_.node(a).node->op == values_.node(b).node->op &&
           first.batch == second.batch && first.m == second.m && first.k == second.k;
  }

  void Stack(std::size_t into, std::size_t from) {
    Group& group = groups_[into];
    const Group other = std::exchange(groups_[from], {});
    group.stacked.push_back(other.main);
    for (const std::size_t n : other.nodes) group_of_[n] = into;
    group.nodes.insert(group.nodes.end(), other.nodes.begin(), other.nodes.end());
    group.folded.insert(group.folded.end(), other.folded.begin(), other.folded.end());
    // "mat_mul x3 + add x3": each part beside its like.
    for (const std::string_view part : other.parts) {
      const auto like = std::find(group.parts.rbegin(), group.parts.rend(), part);
      group.parts.insert(like.base(), part);
    }
  }

  static constexpr std::size_t kProjections = 3;  // of one attention: query, key, value

  const ValueGraph& values_;
  const FusionSet fuses_;
  std::vector<Group>& groups_;
  std::vector<std::size_t>& group_of_;
};

}  // namespace

void StackProducts(const ValueGraph& values, FusionSet fuses, std::vector<Group>& groups,
                   std::vector<std::size_t>& group_of) {
  if (!fuses.Has(FusionStep::kParallel) && !fuses.Has(FusionStep::kProjections)) return;
  ProductStacker(values, fuses, groups, group_of).Run();
}

}  // namespace dlcost
