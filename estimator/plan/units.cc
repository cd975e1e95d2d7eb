#include "estimator/plan/units.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <unordered_map>

#include "estimator/graph/eager_scope.h"
#include "estimator/plan/pattern.h"

namespace dlcost {
namespace {

struct CompiledPattern {
  const NamedPattern* named;
  Pattern pattern;
};

// Patterns by the operator that they end in.
using PatternIndex = std::unordered_map<std::string, std::vector<CompiledPattern>>;

PatternIndex CompilePatterns() {
  PatternIndex index;
  for (const NamedPattern& named : NamedPatterns()) {
    const Pattern pattern(named.text);
    for (const std::string& op : pattern.root_operators()) index[op].push_back({&named, pattern});
  }
  return index;
}

class UnitFinder {
 public:
  UnitFinder(const ValueGraph& values, AttentionForm attention, bool composed_apart)
      : values_(values),
        attention_(attention),
        composed_apart_(composed_apart),
        taken_(values.model().nodes.size(), false) {}

  void Run(const std::function<void(FusedUnit)>& visit) {
    FindPatterns();
    FindAttention();
    for (std::size_t n = 0; n < size(); ++n) {
      const auto recognized = by_last_.find(n);
      if (recognized != by_last_.end()) {
        visit(std::move(recognized->second));
      } else if (!taken_[n] && values_.Runs(n) && !IsDequantization(values_.node(n))) {
        visit(Single(n));
      }
    }
  }

 private:
  std::size_t size() const { return taken_.size(); }

  bool IsFree(const std::vector<std::size_t>& nodes) const {
    for (const std::size_t n : nodes) {
      if (taken_[n]) return false;
    }
    return true;
  }

  void Take(FusedUnit unit) {
    for (const std::size_t n : unit.nodes) taken_[n] = true;
    const std::size_t last = unit.last();
    by_last_.insert_or_assign(last, std::move(unit));
  }

  void FindPatterns() {
    static const PatternIndex kIndex = CompilePatterns();
    // From the end, so that a pattern is found before the shorter ones inside it.
    for (std::size_t n = size(); n-- > 0;) {
      const CountedNode& counted = values_.node(n);
      if (counted.status != NodeStatus::kCounted || !counted.node->domain.empty()) continue;
      const auto found = kIndex.find(counted.node->op);
      if (found == kIndex.end()) continue;
      for (const CompiledPattern& candidate : found->second) {
        if (candidate.named->composed && composed_apart_) continue;
        std::vector<std::size_t> nodes = candidate.pattern.Match(values_, n);
        if (nodes.empty() || nodes.back() != n || !IsFree(nodes)) continue;
        FusedUnit unit{.nodes = std::move(nodes),
                       .name = candidate.named->name,
                       .role = candidate.named->role,
                       .main = n};
        for (const std::size_t inner : unit.nodes) {
          if (std::holds_alternative<ReduceNest>(values_.node(inner).cost.nest)) unit.main = inner;
        }
        Take(std::move(unit));
        break;
      }
    }
  }

  void FindAttention() {
    AttentionFinder finder(values_);
    for (std::size_t n = 0; n < size(); ++n) {
      TakeAround(finder, n);
      std::vector<std::size_t> softmax;
      const CountedNode& counted = values_.node(n);
      const auto pattern = by_last_.find(n);
      if (pattern != by_last_.end() && pattern->second.name == "softmax") {
        softmax = pattern->second.nodes;
      } else if (counted.node->op == "Softmax" && counted.status == NodeStatus::kCounted) {
        softmax = {n};
      } else {
        continue;
      }
      const DType type = TypeOf(softmax.back());
      if (Materializes(attention_, type, Count(1))) continue;  // however many queries there are
      std::optional<AttentionMatch> match = finder.Find(softmax);
      if (!match || Materializes(attention_, type, match->nest.q_len) ||
          !JoinsSpelled(attention_, match->called)) {
        continue;
      }
      std::vector<std::size_t> others;
      for (const std::size_t m : match->nodes) {
        if (std::find(softmax.begin(), softmax.end(), m) == softmax.end()) others.push_back(m);
      }
      if (!IsFree(others)) continue;
      by_last_.erase(softmax.back());
      TakeAttention(std::move(*match));
    }
  }

  void TakeAttention(AttentionMatch match) {
    FusedUnit unit{.nodes = match.nodes,
                   .name = match.nest.causal ? "causal_attention" : "attention",
                   .role = FusionRole::kOpaque,
                   .main = LastProduct(match.nodes)};
    unit.attention = std::make_shared<const AttentionMatch>(std::move(match));
    Take(std::move(unit));
  }

  // What stands around an Attention operator, where its kernel is a compiler's choice.
  void TakeAround(const AttentionFinder& finder, std::size_t n) {
    const auto* nest = std::get_if<AttentionNest>(&values_.node(n).cost.nest);
    if (nest == nullptr || taken_[n] || !JoinsSpelled(attention_, false) ||
        Materializes(attention_, TypeOf(n), nest->q_len)) {
      return;
    }
    std::optional<AttentionMatch> match = finder.FindAround(n);
    if (match && IsFree(match->nodes)) TakeAttention(std::move(*match));
  }

  // What a person would look for: not the transposition behind it.
  std::size_t LastProduct(const std::vector<std::size_t>& nodes) const {
    const auto product = std::find_if(nodes.rbegin(), nodes.rend(), [&](std::size_t n) {
      return values_.node(n).cost.work.macs() > Macs(0);
    });
    return product == nodes.rend() ? nodes.back() : *product;
  }

  DType TypeOf(std::size_t n) const {
    const ValueId value = values_.Output(n, 0);
    return value == kNoValue ? DType::kUndefined : values_.tensor(value).type.dtype;
  }

  static std::string_view NameOf(const AttentionNest& nest, std::string_view op) {
    if (nest.backward) return nest.causal ? "causal_attention_backward" : "attention_backward";
    if (nest.causal) return "causal_attention";
    return op == "FusedAttention" ? "attention" : op;
  }

  FusedUnit Single(std::size_t n) const {
    const CountedNode& counted = values_.node(n);
    const bool known = counted.def != nullptr && counted.status == NodeStatus::kCounted;
    const auto* attention = std::get_if<AttentionNest>(&counted.cost.nest);
    FusionRole role = known ? counted.def->role : FusionRole::kOpaque;
    // A normalization in training reduces what it scales at inference.
    if (role == FusionRole::kElementwise && std::holds_alternative<ReduceNest>(counted.cost.nest)) {
      role = FusionRole::kNormalization;
    }
    return {.nodes = {n},
            .name = attention == nullptr ? std::string_view(counted.node->op)
                                         : NameOf(*attention, counted.node->op),
            .role = role,
            .main = n};
  }

  const ValueGraph& values_;
  AttentionForm attention_;
  bool composed_apart_;
  std::vector<bool> taken_;
  std::unordered_map<std::size_t, FusedUnit> by_last_;  // those of several nodes, by last node
};

}  // namespace

bool MayShareKernel(const ValueGraph& values, std::size_t a, std::size_t b) {
  const CountedNode &first = values.node(a), &second = values.node(b);
  if (first.node->scope == kEagerScope || second.node->scope == kEagerScope) return false;
  return first.graph == second.graph && first.repeat == second.repeat &&
         first.node->phase == second.node->phase;
}

std::string LabelOf(std::string_view op) {
  std::string label;
  for (std::size_t i = 0; i < op.size(); ++i) {
    const auto c = static_cast<unsigned char>(op[i]);
    const bool upper = std::isupper(c) != 0;
    const bool after_lower = i > 0 && std::islower(static_cast<unsigned char>(op[i - 1])) != 0;
    const bool before_lower =
        i > 0 && i + 1 < op.size() && std::islower(static_cast<unsigned char>(op[i + 1])) != 0;
    if (upper && (after_lower || before_lower)) label += '_';
    label += static_cast<char>(std::tolower(c));
  }
  return label;
}

bool IsDequantization(const CountedNode& counted) {
  return counted.node->op == "DequantizeLinear" && counted.status == NodeStatus::kCounted;
}

void ForEachUnit(const ValueGraph& values, AttentionForm attention, bool composed_apart,
                 const std::function<void(FusedUnit)>& visit) {
  UnitFinder(values, attention, composed_apart).Run(visit);
}

}  // namespace dlcost
