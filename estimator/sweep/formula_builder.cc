#include "estimator/sweep/formula_builder.h"

#include <algorithm>
#include <map>

#include "models/operators/work.h"

namespace dlcost {
namespace {

void AddBent(FormulaSum& sum, const BentPart& part) {
  for (BentPart& known : sum.bent) {
    if (known.beyond == part.beyond && known.smallest == part.smallest) {
      known.times += part.times;
      return;
    }
  }
  sum.bent.push_back(part);
}

// The different counts of a region, as polynomials in the sizes.
class Counts {
 public:
  explicit Counts(const CountRegion& region) {
    std::vector<Polynomial> all;
    for (std::uint32_t p = 0; p < region.newton.size(); ++p) all.push_back(region.PolynomialOf(p));
    for (std::uint32_t p = 0; p < region.newton.size(); ++p) {
      FormulaSum sum{.straight = all[p]};
      const CountRegion::Bend& bend = region.bends[p];
      if (!bend.others.empty()) {
        BentPart part{.smallest = bend.smallest};
        for (const std::uint32_t other : bend.others) {
          part.beyond.push_back(all[other]);
          part.beyond.back().Add(all[p], -1);
        }
        sum.bent.push_back(std::move(part));
      }
      sums_.push_back(std::move(sum));
    }
  }
  const FormulaSum& operator[](std::uint32_t p) const { return sums_[p]; }

 private:
  std::vector<FormulaSum> sums_;
};

// Adds slots up, polynomial by polynomial.
class Sum {
 public:
  void Add(std::uint32_t polynomial, std::int64_t weight) {
    if (weight != 0) weights_[polynomial] += weight;
  }
  FormulaSum Total(const Counts& counts) const {
    FormulaSum total;
    for (const auto& [p, weight] : weights_) {
      const Rational times = mpz_class(static_cast<signed long>(weight));
      total.straight.Add(counts[p].straight, times);
      for (BentPart part : counts[p].bent) {
        part.times = times;
        AddBent(total, part);
      }
    }
    return total;
  }

 private:
  std::map<std::uint32_t, std::int64_t> weights_;
};

class FormulaBuilder {
 public:
  FormulaBuilder(Formula& formula, const std::vector<CountSlot>& layout,
                 const std::vector<FormulaNode>& nodes)
      : formula_(formula),
        region_(formula.region),
        layout_(layout),
        nodes_(nodes),
        convention_(FindConvention(formula.convention)),
        counts_(formula.region) {
    for (const RegionAxis& axis : region_.axes) base_.push_back(axis.base);
  }

  void Run() {
    using What = CountSlot::What;
    AddWork("macs", "MACs", [](OpClass c) { return c == OpClass::kMac ? 1 : 0; });
    AddWork("flops", "FLOPs",
            [&](OpClass c) { return convention_.weights[static_cast<std::size_t>(c)]; });
    for (int i = 0; i < kOpClassCount; ++i) {
      const auto op_class = static_cast<OpClass>(i);
      if (op_class == OpClass::kMac) continue;
      AddWork("work." + std::string(Name(op_class)), "  " + std::string(Name(op_class)),
              [&](OpClass c) { return c == op_class ? 1 : 0; });
      const FormulaQuantity& last = formula_.quantities.back();
      if (last.known() && last.total.straight.IsZero()) formula_.quantities.pop_back();
    }
    for (const Fusion fusion : {Fusion::kNone, Fusion::kDefault, Fusion::kIdeal}) {
      const std::string name(Name(fusion));
      Add("bytes." + name, "bytes, fusion " + name, [&](const CountSlot& slot) {
        return slot.what == What::kBytes && slot.fusion == fusion ? 1 : 0;
      });
    }
    Add("parameters", "parameters",
        [](const CountSlot& slot) { return slot.what == What::kParameters ? 1 : 0; });
    Add("weight_bytes", "weight bytes",
        [](const CountSlot& slot) { return slot.what == What::kWeightBytes ? 1 : 0; });
    AddPeak();
    for (const FormulaQuantity& quantity : formula_.quantities) {
      if (quantity.key != "macs" && quantity.key != "flops" && quantity.key != "bytes.default") {
        continue;
      }
      for (Crossing& crossing : FindCrossings(quantity, base_.size())) {
        formula_.crossings.push_back(std::move(crossing));
      }
    }
  }

 private:
  template <typename Weight>
  void AddWork(std::string key, std::string title, Weight weight) {
    Add(std::move(key), std::move(title), [&](const CountSlot& slot) {
      return slot.what == CountSlot::What::kWork ? weight(slot.op_class) : 0;
    });
  }

  template <typename Weight>
  void Add(std::string key, std::string title, Weight weight) {
    FormulaQuantity quantity{.key = std::move(key), .title = std::move(title)};
    Sum total;
    struct Group {
      Sum sum;
      std::map<std::int32_t, Sum> nodes;
    };
    std::map<std::string, Group> ops, scopes;
    for (std::size_t s = 0; s < layout_.size(); ++s) {
      const CountSlot& slot = layout_[s];
      const int times = weight(slot);
      if (times == 0) continue;
      const std::uint32_t p = region_.polynomial_of[s];
      quantity.family = slot.family;
      if (region_.none[p]) {
        quantity.none.push_back(slot.node < 0 ? "the model"
                                              : nodes_[static_cast<std::size_t>(slot.node)].name);
        continue;
      }
      if (counts_[p].straight.IsZero() && counts_[p].bent.empty()) continue;
      total.Add(p, times);
      if (slot.node < 0) continue;
      const FormulaNode& node = nodes_[static_cast<std::size_t>(slot.node)];
      const auto add = [&](Group& group) {
        group.sum.Add(p, times);
        group.nodes[slot.node].Add(p, times);
      };
      add(ops[node.op]);
      add(scopes[node.scope]);
    }
    quantity.total = total.Total(counts_);
    const auto parts = [&](const std::map<std::string, Group>& groups) {
      std::vector<FormulaPart> rows;
      for (const auto& [name, group] : groups) {
        FormulaPart part{.name = name, .sum = group.sum.Total(counts_)};
        for (const auto& [node, sum] : group.nodes) {
          const FormulaSum of_node = sum.Total(counts_);
          for (const auto& [powers, coefficient] : of_node.straight.terms()) {
            ++part.nodes[powers];
          }
        }
        rows.push_back(std::move(part));
      }
      std::stable_sort(rows.begin(), rows.end(), [&](const FormulaPart& a, const FormulaPart& b) {
        return a.sum.At(base_) > b.sum.At(base_);
      });
      return rows;
    };
    quantity.by_op = parts(ops);
    quantity.by_scope = parts(scopes);
    formula_.quantities.push_back(std::move(quantity));
  }

  // The largest of what lives at each moment: polynomials that another one is never below, as far
  // down as the region goes, are left out.
  void AddPeak() {
    FormulaQuantity quantity{
        .key = "peak_activation_bytes", .title = "peak memory", .family = CountFamily::kLive};
    std::vector<FormulaSum> moments;
    const auto add = [&](FormulaSum sum) {
      if (std::find(moments.begin(), moments.end(), sum) == moments.end()) {
        moments.push_back(std::move(sum));
      }
    };
    for (std::size_t s = 0; s < layout_.size(); ++s) {
      if (layout_[s].what != CountSlot::What::kLiveBytes) continue;
      const std::uint32_t p = region_.polynomial_of[s];
      if (region_.none[p]) quantity.none.push_back("the model");
      const CountRegion::Bend& bend = region_.bends[p];
      if (!bend.others.empty() && !bend.smallest) {  // the largest of several is one of them
        add({.straight = counts_[p].straight});
        for (const std::uint32_t other : bend.others) add(counts_[other]);
      } else {
        add(counts_[p]);
      }
    }
    Point from;
    for (std::size_t v = 0; v < base_.size(); ++v) {
      const auto& ranges = region_.ranges[static_cast<std::size_t>(CountFamily::kLive)];
      from.push_back(ranges.empty() ? base_[v] : ranges[v].from);
    }
    // Largest at the base first, which are the likeliest to cover others.
    std::stable_sort(moments.begin(), moments.end(), [&](const FormulaSum& a, const FormulaSum& b) {
      return a.At(base_) > b.At(base_);
    });
    std::vector<FormulaSum> kept;
    for (FormulaSum& sum : moments) {
      const bool covered = std::any_of(kept.begin(), kept.end(), [&](const FormulaSum& larger) {
        return NeverBelow(larger, sum, from);
      });
      if (covered) continue;
      std::erase_if(kept,
                    [&](const FormulaSum& smaller) { return NeverBelow(sum, smaller, from); });
      kept.push_back(std::move(sum));
    }
    if (!kept.empty()) {
      quantity.total = kept.front();
      quantity.or_larger.assign(kept.begin() + 1, kept.end());
    }
    formula_.quantities.push_back(std::move(quantity));
  }

  static bool NeverBelow(const FormulaSum& a, const FormulaSum& b, const Point& from) {
    return a.bent == b.bent && dlcost::NeverBelow(a.straight, b.straight, from);
  }

  Formula& formula_;
  const CountRegion& region_;
  const std::vector<CountSlot>& layout_;
  const std::vector<FormulaNode>& nodes_;
  const Convention& convention_;
  const Counts counts_;
  Point base_;
};

}  // namespace

void BuildQuantities(const std::vector<CountSlot>& layout, const std::vector<FormulaNode>& nodes,
                     Formula& formula) {
  FormulaBuilder(formula, layout, nodes).Run();
}

}  // namespace dlcost
