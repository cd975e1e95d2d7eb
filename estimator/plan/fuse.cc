#include "estimator/plan/fuse.h"

#include <algorithm>

#include "estimator/plan/blas.h"
#include "estimator/plan/stack_products.h"
#include "estimator/plan/units.h"

namespace dlcost {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

KernelKind KindOf(FusionRole role) {
  switch (role) {
    case FusionRole::kAnchor:
      return KernelKind::kProduct;
    case FusionRole::kElementwise:
      return KernelKind::kPointwise;
    case FusionRole::kReduction:
    case FusionRole::kNormalization:
      return KernelKind::kRows;
    case FusionRole::kMovement:
      return KernelKind::kMovement;
    case FusionRole::kOpaque:
    case FusionRole::kView:
      return KernelKind::kOpaque;
  }
  return KernelKind::kOpaque;
}

const FusionRule* FindRule(KernelKind kernel, FusionRole role) {
  for (const FusionRule& rule : FusionRules()) {
    if (rule.kernel == kernel && rule.role == role) return &rule;
  }
  return nullptr;
}

// A group while it grows.
struct Growing {
  Group group;
  std::size_t last = 0;  // the node that ends it
  Count elements;        // that it writes, or that its rows have in all
  Count rows;            // of reductions; 0 where there are none
  bool open = true;      // nothing outside has read from it
  bool moved = false;    // merged into another group
};

std::pair<bool, std::size_t> Rank(const Growing& growing) {
  return {growing.group.kind == KernelKind::kProduct, growing.last};
}

class Fuser {
 public:
  Fuser(const ValueGraph& values, AttentionForm attention, FusionSet fuses, bool composed_apart)
      : values_(values),
        attention_(attention),
        fuses_(fuses),
        composed_apart_(composed_apart),
        group_of_(values.model().nodes.size(), kNone) {}

  Grouping Run() {
    ForEachUnit(values_, attention_, composed_apart_,
                [this](const FusedUnit& unit) { Place(unit); });
    PlaceDequantizations();
    PlaceOthers();
    std::vector<Group> groups = TakeGroups();
    StackProducts(values_, fuses_, groups, group_of_);
    return Finish(std::move(groups));
  }

 private:
  std::size_t size() const { return group_of_.size(); }

  // Groups that make what the unit reads, each once; looks through dequantization.
  std::vector<std::size_t> Makers(const FusedUnit& unit) const {
    std::vector<std::size_t> makers;
    for (const std::size_t n : unit.nodes) {
      for (std::size_t i = 0; i < values_.NumInputs(n); ++i) {
        ValueId value = values_.Input(n, i);
        while (value != kNoValue && !values_.IsConstant(value)) {
          const auto producer = values_.Producer(value);
          if (producer == ValueGraph::kNoNode) break;
          const auto p = static_cast<std::size_t>(producer);
          if (IsDequantization(values_.node(p))) {
            value = values_.Input(p, 0);
            continue;
          }
          const std::size_t group = group_of_[p];
          if (group != kNone && std::find(makers.begin(), makers.end(), group) == makers.end()) {
            makers.push_back(group);
          }
          break;
        }
      }
    }
    return makers;
  }

  Count OutputElements(std::size_t n) const {
    const ValueId value = values_.Output(n, 0);
    if (value == kNoValue || !values_.tensor(value).type.shape) return 0;
    return values_.tensor(value).type.shape->Elements();
  }

  Growing Start(const FusedUnit& unit) const {
    Growing growing;
    growing.group = {.nodes = unit.nodes,
                     .main = unit.main,
                     .kind = unit.attention ? KernelKind::kAttention : KindOf(unit.role),
                     .parts = {unit.name},
                     .attention = unit.attention};
    growing.last = unit.last();
    growing.elements = OutputElements(unit.last());
    if (growing.group.kind == KernelKind::kRows) SetRows(growing, unit);
    return growing;
  }

  void SetRows(Growing& growing, const FusedUnit& unit) const {
    if (const auto* nest = std::get_if<ReduceNest>(&values_.node(unit.main).cost.nest)) {
      growing.rows = nest->outer;
      growing.elements = nest->outer * nest->reduce;
    } else {
      growing.rows = growing.elements;
    }
  }

  bool Fits(const Growing& growing, const FusionRule& rule, const FusedUnit& unit) const {
    const Count writes = OutputElements(unit.last());
    switch (rule.extents) {
      case FusionRule::Extents::kOutput:
        return writes == growing.elements && writes > Count(0);
      case FusionRule::Extents::kInput: {
        const auto* nest = std::get_if<ReduceNest>(&values_.node(unit.main).cost.nest);
        return nest != nullptr && nest->outer * nest->reduce == growing.elements;
      }
      case FusionRule::Extents::kRows: {
        if (unit.role == FusionRole::kElementwise) {
          return writes == growing.elements || writes == growing.rows;
        }
        const auto* nest = std::get_if<ReduceNest>(&values_.node(unit.main).cost.nest);
        return nest != nullptr && nest->outer == growing.rows &&
               nest->outer * nest->reduce == growing.elements;
      }
    }
    return false;
  }

  bool IsConvolution(const Growing& growing) const {
    return std::holds_alternative<ConvNest>(values_.node(growing.group.main).cost.nest);
  }

  // The first to join a product, which adds a stored vector to it.
  bool IsBias(const Growing& growing, const FusedUnit& unit) const {
    return growing.group.nodes.size() == 1 && AddsStoredVector(values_, unit.last());
  }

  // Scales what a product has summed up, before anything else joins it.
  bool IsScale(const Growing& growing, const FusedUnit& unit) const {
    return growing.last == growing.group.main && unit.nodes.size() == 1 &&
           ScalesByStoredNumber(values_, unit.main);
  }

  bool Fuses(const Growing& growing, const FusionRule& rule, const FusedUnit& unit) const {
    if (rule.kernel != KernelKind::kProduct) return fuses_.Has(rule.step);
    if (IsConvolution(growing)) return fuses_.Has(FusionStep::kConvolution);
    return fuses_.Has(rule.step) || (fuses_.Has(FusionStep::kBias) && IsBias(growing, unit)) ||
           (fuses_.Has(FusionStep::kOperands) && IsScale(growing, unit));
  }

  // Whether a kernel may compute a chain beside the main one on the way.
  bool TakesChains(const Growing& growing) const {
    switch (growing.group.kind) {
      case KernelKind::kPointwise:
        return fuses_.Has(FusionStep::kPointwise);
      case KernelKind::kRows:
        return fuses_.Has(FusionStep::kRows);
      case KernelKind::kProduct:
        return fuses_.Has(IsConvolution(growing) ? FusionStep::kConvolution : FusionStep::kProduct);
      case KernelKind::kMovement:
      case KernelKind::kAttention:
      case KernelKind::kOpaque:
        break;
    }
    return false;
  }

  void Place(const FusedUnit& unit) {
    const std::vector<std::size_t> makers = Makers(unit);
    std::size_t best = kNone;
    const FusionRule* rule = nullptr;
    for (const std::size_t maker : makers) {
      const Growing& growing = growing_[maker];
      if (!growing.open || !MayShareKernel(values_, growing.group.main, unit.main)) continue;
      const FusionRule* candidate = FindRule(growing.group.kind, unit.role);
      if (candidate == nullptr || !Fits(growing, *candidate, unit)) continue;
      if (!Fuses(growing, *candidate, unit)) continue;
      // A product's epilogue before anything else, then the group that ends last. Any open group
      // will do: nothing outside depends on it.
      if (best != kNone && Rank(growing_[best]) > Rank(growing)) continue;
      best = maker;
      rule = candidate;
    }
    const bool starts = best == kNone;
    if (starts) {
      best = growing_.size();
      growing_.push_back(Start(unit));
    } else {
      Join(growing_[best], *rule, unit);
    }
    for (const std::size_t n : unit.nodes) group_of_[n] = best;
    for (const std::size_t maker : makers) {
      if (maker == best) continue;
      if (!MergePromotion(maker, best) && !MergeTransposition(maker, best) &&
          !MergePointwise(maker, best, starts)) {
        growing_[maker].open = false;
      }
    }
  }

  void Join(Growing& growing, const FusionRule& rule, const FusedUnit& unit) {
    Group& group = growing.group;
    if (group.kind == KernelKind::kProduct &&
        values_.node(unit.last()).node->op == "BatchNormalization" && group.nodes.size() == 1) {
      group.folded.push_back(unit.last());
    }
    group.nodes.insert(group.nodes.end(), unit.nodes.begin(), unit.nodes.end());
    group.parts.push_back(unit.name);
    growing.last = unit.last();
    if (rule.result == KernelKind::kRows && group.kind != KernelKind::kRows) {
      SetRows(growing, unit);
      group.main = unit.main;
    }
    group.kind = rule.result;
  }

  // A kernel promotes its operands while it reads them.
  bool MergePromotion(std::size_t from, std::size_t into) {
    Growing& source = growing_[from];
    const Group& group = source.group;
    const bool alone =
        group.nodes.size() == 1 ||
        (group.nodes.size() == 2 && values_.node(group.nodes[0]).node->op == "Transpose");
    if (!source.open || !alone || !values_.node(source.last).node->promotes ||
        !MayShareKernel(values_, group.main, growing_[into].group.main)) {
      return false;
    }
    Merge(from, into);
    return true;
  }

  // A product reads its operand as it lies, and none else does.
  bool MergeTransposition(std::size_t from, std::size_t into) {
    const Growing& source = growing_[from];
    const std::size_t product = growing_[into].group.main;
    if (!fuses_.Has(FusionStep::kOperands) || !source.open || source.group.nodes.size() != 1 ||
        !TransposesMatrices(values_, source.last) ||
        !std::holds_alternative<GemmNest>(values_.node(product).cost.nest) ||
        !MayShareKernel(values_, source.last, product)) {
      return false;
    }
    const ValueId value = values_.Output(source.last, 0);
    if (values_.Escapes(value) || values_.Readers(value).size() != 1) return false;
    Merge(from, into);
    return true;
  }

  void Merge(std::size_t from, std::size_t into) {
    Growing& source = growing_[from];
    Group& group = growing_[into].group;
    for (const std::size_t n : source.group.nodes) group_of_[n] = into;
    group.nodes.insert(group.nodes.end(), source.group.nodes.begin(), source.group.nodes.end());
    group.parts.insert(group.parts.begin(), source.group.parts.begin(), source.group.parts.end());
    source.moved = true;
    source.open = false;
  }

  // An elementwise chain beside the main one, read by nobody else, is computed on the way: not what
  // a product multiplies, with which its kernel `starts`, however many elements it has.
  bool MergePointwise(std::size_t from, std::size_t into, bool starts) {
    Growing& source = growing_[from];
    Growing& target = growing_[into];
    if (starts && target.group.kind == KernelKind::kProduct) return false;
    const bool pointwise =
        source.group.kind == KernelKind::kPointwise || source.group.kind == KernelKind::kMovement;
    if (!source.open || !pointwise || !TakesChains(target) || source.elements != target.elements ||
        !MayShareKernel(values_, source.group.main, target.group.main) ||
        source.group.nodes.size() > target.group.nodes.size() + kMostMerged) {
      return false;
    }
    Merge(from, into);
    return true;
  }

  // Belongs to the first kernel that reads the result; a kernel of its own when nobody does.
  void PlaceDequantizations() {
    for (std::size_t n = size(); n-- > 0;) {
      if (group_of_[n] != kNone || !IsDequantization(values_.node(n))) continue;
      const ValueId value = values_.Output(n, 0);
      std::size_t reader_group = kNone;
      if (value != kNoValue && !values_.Escapes(value)) {
        for (const auto reader : values_.Readers(value)) {
          const std::size_t group = group_of_[static_cast<std::size_t>(reader)];
          if (group != kNone) {
            reader_group = group;
            break;
          }
        }
      }
      if (reader_group == kNone) {
        FusedUnit unit{.nodes = {n}, .name = "DequantizeLinear", .role = FusionRole::kElementwise};
        unit.main = n;
        reader_group = growing_.size();
        growing_.push_back(Start(unit));
      } else {
        growing_[reader_group].group.nodes.push_back(n);
        growing_[reader_group].group.folded.push_back(n);
      }
      group_of_[n] = reader_group;
    }
  }

  // Views go with what they view; everything that is known before the run goes into one group.
  void PlaceOthers() {
    std::size_t before_run = kNone;
    for (std::size_t n = 0; n < size(); ++n) {
      if (group_of_[n] != kNone) continue;
      std::size_t group = kNone;
      if (values_.node(n).status != NodeStatus::kMetadata) {
        const ValueId value = values_.Input(n, 0);
        const auto maker = value == kNoValue ? ValueGraph::kNoNode : values_.Producer(value);
        if (maker != ValueGraph::kNoNode) group = group_of_[static_cast<std::size_t>(maker)];
      }
      if (group == kNone) {
        if (before_run == kNone) {
          before_run = growing_.size();
          growing_.emplace_back();
          growing_.back().group.main = n;
        }
        group = before_run;
      }
      growing_[group].group.nodes.push_back(n);
      group_of_[n] = group;
    }
  }

  // Full grown, as growing_; without nodes where they were merged into others.
  std::vector<Group> TakeGroups() {
    std::vector<Group> groups;
    for (Growing& growing : growing_) {
      groups.push_back(growing.moved ? Group() : std::move(growing.group));
    }
    return groups;
  }

  Grouping Finish(std::vector<Group> groups) const {
    Grouping result;
    // By the last node that runs: views behind a kernel do not move it.
    std::vector<std::pair<std::size_t, std::size_t>> order;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      Group& group = groups[g];
      if (group.nodes.empty()) continue;
      std::size_t last = group.stacked.empty() ? 0 : growing_[g].last;
      for (const std::size_t n : group.nodes) {
        if (group.stacked.empty() && values_.Runs(n)) last = std::max(last, n);
      }
      std::sort(group.nodes.begin(), group.nodes.end());
      order.emplace_back(last, g);
    }
    std::sort(order.begin(), order.end());
    result.group_of.resize(size());
    for (const auto& [last, g] : order) {
      for (const std::size_t n : groups[g].nodes) result.group_of[n] = result.groups.size();
      result.groups.push_back(std::move(groups[g]));
    }
    return result;
  }

  static constexpr std::size_t kMostMerged = 64;  // keeps merging linear: small into large

  const ValueGraph& values_;
  AttentionForm attention_;
  FusionSet fuses_;
  bool composed_apart_;
  std::vector<Growing> growing_;
  std::vector<std::size_t> group_of_;
};

}  // namespace

Grouping SeparateNodes(const ValueGraph& values) {
  Grouping grouping;
  for (std::size_t n = 0; n < values.model().nodes.size(); ++n) {
    const CountedNode& counted = values.node(n);
    const FusionRole role = counted.def == nullptr ? FusionRole::kOpaque : counted.def->role;
    grouping.groups.push_back(
        {.nodes = {n}, .main = n, .kind = KindOf(role), .parts = {counted.node->op}});
    grouping.group_of.push_back(n);
  }
  return grouping;
}

Grouping FuseNodes(const ValueGraph& values, AttentionForm attention, FusionSet fuses,
                   bool composed_apart) {
  return Fuser(values, attention, fuses, composed_apart).Run();
}

}  // namespace dlcost
