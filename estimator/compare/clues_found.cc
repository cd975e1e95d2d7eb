#include <algorithm>
#include <cmath>

#include "estimator/compare/clues.h"
#include "estimator/compare/found_operators.h"
#include "estimator/compare/op_family.h"
#include "estimator/compare/shape_text.h"

namespace dlcost {
namespace {

using enum KernelFamily;

// Kernels around a model's own that any program may launch.
bool MayBeForeign(KernelFamily family) {
  return family == kCommunication || family == kFill || family == kRandom || family == kDropout ||
         family == kLayout;
}

class FoundClues {
 public:
  explicit FoundClues(const ClueSource& source)
      : source_(source),
        report_(source.report),
        joined_(source.joined),
        slots_(source.slots),
        found_(CountFound(source.report, source.joined, source.slots)) {}

  void Run() {
    Names();
    Products();
    Strays();
    Markers();
    Shapes();
    Rest();
  }

 private:
  void Add(double bits, std::string text) const { source_.Add(bits, std::move(text)); }

  void Names() {
    const auto found = static_cast<double>(joined_.names.found);
    const auto missing = static_cast<double>(joined_.names.missing);
    if (found == 0) {
      if (missing >= 4) {
        // Another export of the model has other names.
        Add(Along(missing, {{4, -3}, {16, -6}}),
            fmt::format("none of {} names in it is a node of the model", joined_.names.missing));
      }
      return;
    }
    const double share = found / (found + missing);
    Add(Along(share, {{0, -16}, {0.5, -14}, {0.7, -10}, {0.9, 0}, {1, 12}}) *
            std::min(1.0, (found + missing) / 4),
        fmt::format("{} of {} names in it are nodes of the model", joined_.names.found,
                    joined_.names.found + joined_.names.missing));
    if (joined_.names.other_type > 0) {
      Add(-std::min(12.0, 3.0 * static_cast<double>(joined_.names.other_type)),
          fmt::format("{} nodes have another operator type there", joined_.names.other_type));
    }
  }

  void Products() {
    FoundFamily sum;
    double certain = 0;  // not counting operators to which any number of products goes
    for (const auto& [family, found] : found_.families) {
      if (!IsProduct(family)) continue;
      if (family != kRecurrent) certain += found.model;
      sum.model += found.model;
      sum.joined += found.joined;
      sum.kernels += found.kernels;
      sum.over += found.over;
    }
    if (sum.model + sum.over == 0) return;
    const double share = sum.joined / (sum.model + sum.over);
    double bits = Along(share, {{0, -10},
                                {0.5, -8},
                                {0.8, -5},
                                {0.9, -1},
                                {0.95, 0.5},
                                {0.98, 1.5},
                                {1, std::min(1.0, certain / 4) + 0.7 * std::log2(1 + certain)}});
    // Runs and groups of a table were chosen so that they fit.
    if (joined_.folded && found_.telling < 0.5) bits = std::min(bits, 1.0);
    Exactly(sum);
    // A part of a run: all of it is in the model, without holes, but not all of the model in it.
    const double holes = Holes();
    const bool part =
        !joined_.folded && sum.joined > 0 && sum.over < 0.05 * sum.joined && holes < 0.1;
    if (part) bits = std::max(bits, -3.0);
    Add(bits,
        fmt::format("{:.6g} of the model's {:.6g} convolutions and products were found, {:.6g} "
                    "launches of others were not",
                    sum.joined, sum.model, sum.over));
    if (joined_.repeats > 1) {
      Add(-4, fmt::format("what is taken for one run repeats itself {} times", joined_.repeats));
    }
    if (joined_.uneven > 0.02) {
      Add(Along(joined_.uneven, {{0.02, 0}, {0.1, -4}, {0.15, -9}, {1, -16}}),
          fmt::format("{:.0f} % of the launches of its products, poolings "
                      "and the like are no multiple of {} runs",
                      100 * joined_.uneven, joined_.runs));
    }
    if (holes > 0.03) {
      // Profilers lose no launches; but a runtime may have merged products.
      Add(joined_.names.found > 0
              ? Along(holes, {{0.2, 0}, {1, -48}})
              : Along(holes, {{0.03, 0}, {0.1, -1.5}, {0.2, -2}, {0.33, -4}, {1, -24}}),
          fmt::format("{:.0f} % of the model's products between those that were found are missing",
                      100 * holes));
    }
  }

  // Whether as many kernels were launched as the model has products, whatever their names tell.
  void Exactly(const FoundFamily& sum) const {
    if (sum.model < 8 || sum.kernels <= 0) return;
    const double off = (std::abs(sum.model - sum.kernels) + sum.over) / sum.model;
    if (off < 0.02) {
      // The number of runs was chosen so that a table has as many.
      Add(joined_.folded ? 0.45 : 0.7, "as many products were launched as the model has");
    } else if (joined_.folded && joined_.names.found == 0 && off > 0.05) {
      Add(found_.telling > 0.85 ? -4 : -2,
          fmt::format("{:.0f} % more or fewer products were launched than the model has",
                      100 * off));
    }
  }

  // In a file that tells launches apart nothing is lost and nothing added: a launch that is a
  // product by its name and that the model has no place for, or a product of the model that is
  // missing between two others, is one too many for what fits beside it to make up. A sibling of
  // the model fits in all the rest.
  void Strays() {
    double strays = 0, products = 0;
    for (const UnmatchedKernel& kernel : joined_.unmatched) {
      if (!kernel.before && IsProduct(kernel.family)) strays += kernel.launches;
    }
    strays += found_.excess;
    bool named = false;
    for (const Slot& slot : slots_) {
      if (!IsProduct(slot.family)) continue;
      products += 1;
      named |= joined_.kernels[slot.kernel].by_name;
    }
    // A runtime that names nodes may have merged some under other names.
    if (!named || joined_.names.missing == 0) strays += Holes() * products;
    const double allowed = 0.02 * products;
    if (strays <= allowed + 0.5) return;
    Add(std::max(-17.5, -3.5 * (strays - allowed)),
        fmt::format("{:.6g} products of the file or of the model have no partner in the other",
                    strays));
  }

  // Share of the products between the first and the last that was found that were not. Zero where
  // the file does not tell operators apart.
  double Holes() const {
    if (joined_.folded) return 0;
    std::vector<bool> found;
    for (const Slot& slot : slots_) {
      if (IsProduct(slot.family)) found.push_back(joined_.kernels[slot.kernel].any());
    }
    const auto first = std::find(found.begin(), found.end(), true);
    const auto last = std::find(found.rbegin(), found.rend(), true).base();
    if (first >= last) return 0;
    return static_cast<double>(std::count(first, last, false)) / static_cast<double>(last - first);
  }

  // Operators that networks differ in.
  void Markers() {
    FoundFamily sum;
    for (const auto& [family, found] : found_.families) {
      if (!IsMarker(family)) continue;
      sum.model += found.model;
      sum.joined += found.joined;
      sum.over += found.over;
    }
    if (sum.model + sum.over < 2) return;
    if (sum.over >= 1.5) {
      // Nothing else launches them, unlike what a runtime merges.
      Add(Along(sum.over / (sum.model + sum.over), {{0.02, 0}, {0.1, -2}, {0.3, -7}}),
          fmt::format("{:.4g} launches of poolings, normalizations, softmaxes and gathers are more "
                      "than the model has",
                      sum.over));
    }
    if (sum.over > 0.9 && sum.over < 1.5 && found_.telling > 0.85) {
      // An operator that an export left out, for it changes nothing, is launched by frameworks.
      Add(-1.5, "a launch of a pooling, normalization, softmax or gather is more than it has");
    }
    const double share = sum.joined / (sum.model + sum.over);
    if (sum.joined + sum.over == 0) return;  // their names may tell nothing
    // Where names tell, nearly all are found.
    Add(found_.telling > 0.85 && sum.model >= 5
            ? Along(share, {{0, -6}, {0.6, -4}, {0.9, 1}, {1, 1.5}})
            : 3 * (share - 0.5),
        fmt::format("{:.4g} of the model's {:.4g} poolings, normalizations, softmaxes and gathers "
                    "were found, {:.4g} others were not",
                    sum.joined, sum.model, sum.over));
  }

  void Shapes() {
    int fits = 0, others = 0;
    for (const Slot& slot : slots_) {
      for (const std::string& name : joined_.kernels[slot.kernel].names) {
        const auto shape = SpellsShapeOf(name, report_.kernels[slot.kernel].nest);
        if (!shape) continue;
        (*shape ? fits : others) += 1;
      }
    }
    if (fits + others == 0) return;
    const double bits = 6.0 * fits - 6.0 * others;
    Add(std::clamp(bits, -12.0, 12.0),
        fmt::format("{} of {} shapes in its names are the model's", fits, fits + others));
  }

  // What the model has no place for.
  void Rest() {
    struct Amount {
      double time = 0, flops = 0, launches = 0;
    };
    Amount in, out;
    const auto add = [](Amount& to, double weight, double launches, const auto& time,
                        const auto& flops) {
      to.launches += weight * launches;
      to.time += weight * (time ? time->value() : 0);
      to.flops += weight * flops.value_or(0);
    };
    for (const Measured& m : joined_.kernels) add(in, 1, m.launches, m.time, m.vector_flops);
    for (const Joined::Shared& group : joined_.shared)
      add(in, 1, group.measured.launches, group.measured.time, group.measured.vector_flops);
    for (const UnmatchedKernel& kernel : joined_.unmatched) {
      if (kernel.before || MayBeForeign(kernel.family)) continue;
      // One whose name tells nothing may well be the model's.
      const double weight = kernel.family == kUnknown ? 0.5 : 1;
      add(out, weight, kernel.launches, kernel.time, kernel.vector_flops);
    }
    const char* what = in.time + out.time > 0     ? "time"
                       : in.flops + out.flops > 0 ? "counted FLOPs"
                                                  : "launches";
    const double whole = in.time + out.time > 0     ? in.time + out.time
                         : in.flops + out.flops > 0 ? in.flops + out.flops
                                                    : in.launches + out.launches;
    const double rest = in.time + out.time > 0     ? out.time
                        : in.flops + out.flops > 0 ? out.flops
                                                   : out.launches;
    if (whole <= 0 || in.launches <= 0) {
      Add(-20, "nothing in it belongs to the model");
      return;
    }
    const double share = rest / whole;
    Add(Along(share, {{0.05, 1}, {0.15, 0}, {0.5, -4}, {1, -8}}),
        fmt::format("{:.0f} % of its {} belongs to no operator of the model", 100 * share, what));
  }

  const ClueSource& source_;
  const Report& report_;
  const Joined& joined_;
  const std::vector<Slot>& slots_;
  const FoundOperators found_;
};

}  // namespace

void AddFoundClues(const ClueSource& source) { FoundClues(source).Run(); }

}  // namespace dlcost
