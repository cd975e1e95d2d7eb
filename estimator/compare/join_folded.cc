#include "estimator/compare/join_folded.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "estimator/compare/as_run.h"
#include "estimator/compare/op_family.h"
#include "estimator/core/integer.h"
#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

using enum KernelFamily;

// A row is given to certain operators only when their executed work is its own to within this, and
// no other operators come as close as three times that.
constexpr double kSame = 0.03;
constexpr double kSameOnly = 0.5;          // where the algorithm can run no others
constexpr std::size_t kMostOperators = 3;  // that a row is narrowed down to
constexpr std::size_t kMostSets = 10'000;  // of operators that are tried for a row

// Executed by the stage that does the products, as this kernel would.
double ProductFlops(const Report& report, const Slot& slot, const KernelName& name,
                    const std::optional<Device>& device) {
  const KernelRow& kernel = report.kernels[slot.kernel];
  if (!device || !kernel.execution) return slot.flops.value_or(0);
  const auto execution = ExecutionAsRun(kernel, name, *device);
  double flops = 0;
  for (const Stage& stage : execution->stages) {
    const bool multiplies =
        std::any_of(stage.terms.begin(), stage.terms.end(),
                    [](const Term& term) { return term.kind == TermKind::kProducts; });
    if (!multiplies) continue;
    for (const Term& term : stage.terms) {
      if (term.kind != TermKind::kEpilogue) flops += term.instructions.flops().AsDouble();
    }
  }
  return flops > 0 ? flops : slot.flops.value_or(0);
}

class FoldedJoiner {
 public:
  FoldedJoiner(const Report& report, const std::vector<Slot>& slots,
               const std::vector<MeasuredKernel>& rows, const std::optional<Device>& device,
               std::int64_t runs, Tally& tally, Joined& joined)
      : report_(report),
        slots_(slots),
        rows_(rows),
        device_(device),
        runs_(static_cast<double>(runs)),
        tally_(tally),
        joined_(joined),
        row_slots_(rows.size()),
        taken_(slots.size(), false) {}

  void Run() {
    for (const MeasuredKernel& row : rows_) {
      told_.push_back(ToldBy(row));
      fused_attention_ |= told_.back().family == kAttention;
    }
    FindPerhaps();
    Narrow();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (row_slots_[r].empty()) row_slots_[r] = perhaps_[r] ? LeftProducts() : LeftFor(told_[r]);
    }
    Merge();
    AddProducts();
    AddOthers();
  }

 private:
  double Launches(std::size_t r) const { return static_cast<double>(rows_[r].launches) / runs_; }

  // Rows whose names tell nothing: products, when a launch counts as many FLOPs as one of the
  // model's may, or, without counters, when products of the model are missing that are at least as
  // many.
  void FindPerhaps() {
    double least = 0, missing = 0;
    bool counted = false, tensor = false;
    for (const MeasuredKernel& row : rows_) counted |= tally_.VectorFlops(row).has_value();
    for (const Slot& slot : slots_) {
      missing += slot.products > 0 ? (counted ? slot.most : 1) : 0;
      const double each = slot.algorithmic.value_or(0) / std::max(1.0, slot.most);
      if (each > 0 && (least == 0 || each < least)) least = each;
    }
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      tensor |= told_[r].tensor;
      if (IsProduct(told_[r].family)) missing -= Launches(r);
    }
    perhaps_.assign(rows_.size(), false);
    std::vector<std::size_t> longest;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (told_[r].family == kUnknown) longest.push_back(r);
    }
    const auto flops = [&](std::size_t r) { return tally_.VectorFlops(rows_[r]).value_or(0); };
    const auto time = [&](std::size_t r) {
      return rows_[r].duration ? rows_[r].duration->value() * Launches(r) : 0;
    };
    std::stable_sort(longest.begin(), longest.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(flops(a), time(a)) > std::pair(flops(b), time(b));
    });
    for (const std::size_t r : longest) {
      const double launches = Launches(r);
      const bool whole = std::abs(launches - std::round(launches)) < 1e-9;
      if (!whole || launches > missing + 0.5) continue;
      const bool counts = counted && least > 0 && flops(r) > 0.3 * least;
      const bool fits = (!counted || tensor) && launches > 0.5 * missing;
      if (!counts && !fits) continue;
      perhaps_[r] = true;
      missing -= launches;
    }
  }

  // Whether the row's launches may be products: by its name, or by their work.
  bool IsWork(std::size_t r) const { return IsProduct(told_[r].family) || perhaps_[r]; }

  // Whether the algorithm that the name tells can run the operator at all.
  bool Runs(const KernelName& told, const Slot& slot) const {
    if (Contains(told.algorithm, "depthwise") && !slot.depthwise) return false;
    const KernelRow& kernel = report_.kernels[slot.kernel];
    const bool winograd = Contains(told.algorithm, "Winograd");
    if (!device_ || !kernel.execution || (!winograd && !Contains(told.algorithm, "FFT")))
      return true;
    const Algorithm ran = ExecutionAsRun(kernel, told, *device_)->algorithm;
    return ran == (winograd ? Algorithm::kWinograd : Algorithm::kFft) ||
           (winograd && ran == Algorithm::kWinogradNonfused);
  }

  bool Suits(KernelFamily row, const Slot& slot) const {
    if (row == slot.family || (row == kUnknown && IsProduct(slot.family))) return true;
    return row == kGemm && (slot.family == kRecurrent || slot.family == kAttention);
  }

  struct Proposal {
    std::size_t row;
    std::vector<std::size_t> slots;
    double off;
  };

  // All sets of so many operators, or single ones that own several products, whose work is the
  // row's; the best, when it is close and nothing else is.
  std::optional<Proposal> Propose(std::size_t r) {
    const KernelName& told = told_[r];
    const std::optional<double> each = tally_.VectorFlops(rows_[r]);
    if (!IsWork(r) || told.tensor || !each || *each <= 0) return std::nullopt;
    const double total = *each * Launches(r);
    Proposal best{r, {}, 1e9};
    double second = 1e9;
    const auto offer = [&](const std::vector<std::size_t>& set, double work) {
      if (work <= 0) return;
      const double off = std::abs(total / work - 1);
      if (set != best.slots) second = std::min(second, std::max(off, best.off));
      if (off < best.off) best = {r, set, off};
    };
    const double launches = Launches(r);
    const auto count = RoundToInteger<std::size_t>(std::min(launches, 1e6));
    const bool whole = std::abs(launches - std::round(launches)) < 1e-9;
    // As the kernel's algorithm and tile execute it, or as the mathematics needs it: what a library
    // pads is not always known.
    bool only = false;
    for (const bool as_run : {true, false}) {
      std::vector<std::pair<std::size_t, double>> open;  // slot, work
      for (std::size_t s = 0; s < slots_.size(); ++s) {
        if (taken_[s] || !Suits(told.family, slots_[s]) || !Runs(told, slots_[s])) continue;
        const double work = as_run ? ProductFlops(report_, slots_[s], told, device_)
                                   : slots_[s].algorithmic.value_or(0);
        if (slots_[s].several) {
          offer({s}, work);
        } else {
          open.emplace_back(s, work);
        }
      }
      // The only operators that it can run, and as many: then it ran these.
      only |= as_run && open.size() == count && Contains(told.algorithm, "Winograd");
      double sets = 1;
      for (std::size_t i = 0; i < count && i < kMostOperators; ++i)
        sets *= static_cast<double>(open.size());
      if (whole && count >= 1 && count <= kMostOperators && sets <= kMostSets * 6) {
        std::vector<std::size_t> set;
        Choose(open, count, 0, 0, set, offer);
      }
    }
    if (best.off > (only ? kSameOnly : kSame) || second < 3 * kSame) return std::nullopt;
    return best;
  }

  template <typename Offer>
  void Choose(const std::vector<std::pair<std::size_t, double>>& open, std::size_t left,
              std::size_t from, double work, std::vector<std::size_t>& set, const Offer& offer) {
    if (left == 0) {
      offer(set, work);
      return;
    }
    for (std::size_t i = from; i + left <= open.size(); ++i) {
      set.push_back(open[i].first);
      Choose(open, left - 1, i + 1, work + open[i].second, set, offer);
      set.pop_back();
    }
  }

  // Row after row, the surest first: what one takes is no candidate of the others.
  void Narrow() {
    for (;;) {
      std::optional<Proposal> best;
      for (std::size_t r = 0; r < rows_.size(); ++r) {
        if (!row_slots_[r].empty()) continue;
        auto proposal = Propose(r);
        if (proposal && (!best || proposal->off < best->off)) best = std::move(proposal);
      }
      if (!best) return;
      for (const std::size_t s : best->slots) taken_[s] = true;
      row_slots_[best->row] = best->slots;
      narrowed_.insert(best->row);
    }
  }

  std::vector<std::size_t> LeftProducts() const {
    std::vector<std::size_t> left;
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      if (IsProduct(slots_[s].family) && !taken_[s]) left.push_back(s);
    }
    return left;
  }

  // What is left of the operators that run kernels of a family.
  std::vector<std::size_t> Left(KernelFamily family) const {
    const auto of = [&](std::initializer_list<KernelFamily> families) {
      std::vector<std::size_t> left;
      for (std::size_t s = 0; s < slots_.size(); ++s) {
        const bool suits =
            std::find(families.begin(), families.end(), slots_[s].family) != families.end();
        if (suits && !taken_[s]) left.push_back(s);
      }
      return left;
    };
    const auto first = [](std::initializer_list<std::vector<std::size_t>> choices) {
      for (const auto& choice : choices) {
        if (!choice.empty()) return choice;
      }
      return std::vector<std::size_t>();
    };
    switch (family) {
      case kGemm:
        return first(
            {fused_attention_ ? of({kGemm, kRecurrent}) : of({kGemm, kRecurrent, kAttention}),
             of({kConvolution})});
      case kAttention:
        return first({of({kAttention}), of({kGemm, kSoftmax})});
      case kSoftmax:
        return first({of({kSoftmax}), {}});
      default:
        return of({family});
    }
  }

  // The same, but for operators that the row's algorithm cannot run.
  std::vector<std::size_t> LeftFor(const KernelName& told) const {
    std::vector<std::size_t> left = Left(told.family);
    std::erase_if(left, [&](std::size_t s) { return !Runs(told, slots_[s]); });
    return left;
  }

  // Rows that share an operator share all of theirs.
  void Merge() {
    for (bool merged = true; merged;) {
      merged = false;
      for (std::size_t a = 0; a < rows_.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
          std::vector<std::size_t>&x = row_slots_[a], &y = row_slots_[b];
          if (x == y) continue;
          std::vector<std::size_t> both, all;
          std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
          if (both.empty()) continue;
          std::set_union(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(all));
          x = y = all;
          merged = true;
        }
      }
    }
  }

  static std::string OpsOf(const std::vector<Slot>& slots, const std::vector<std::size_t>& set) {
    std::string ops;
    std::set<std::string> seen;
    for (const std::size_t s : set) {
      if (seen.insert(slots[s].op).second) ops += (ops.empty() ? "" : ", ") + slots[s].op;
    }
    return ops;
  }

  Measured& Group(const std::vector<std::size_t>& set, bool beside) {
    if (set.size() == 1 && !beside) return joined_.kernels[slots_[set[0]].kernel];
    const auto [at, added] = groups_.emplace(std::pair(beside, set), joined_.shared.size());
    if (added) {
      Joined::Shared shared{OpsOf(slots_, set), {}, {}, beside};
      for (const std::size_t s : set) shared.kernels.push_back(slots_[s].kernel);
      joined_.shared.push_back(std::move(shared));
    }
    return joined_.shared[at->second].measured;
  }

  void AddProducts() {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (!IsWork(r) || row_slots_[r].empty()) continue;
      Measured& to = Group(row_slots_[r], false);
      tally_.Add(to, rows_[r], Launches(r), true);
      if (to.main.family == kUnknown || !IsProduct(to.main.family)) to.main = told_[r];
      const bool narrowed = narrowed_.contains(r);
      to.joined_by = narrowed ? "executed work of its launches"
                              : "family: the file folds launches by kernel name";
      to.confidence = narrowed ? 0.8 : 0.3;
      for (const std::size_t s : row_slots_[r]) {
        worked_.insert(s);
        algorithm_[s] += std::string(told_[r].algorithm) + "; ";
      }
    }
  }

  // The products that a transform or an epilogue serves: those of its algorithm.
  std::vector<std::size_t> Served(const KernelName& told) const {
    std::vector<std::size_t> convolutions, products, same;
    for (const std::size_t s : worked_) {
      if (slots_[s].family == kConvolution) convolutions.push_back(s);
      products.push_back(s);
      const std::string& algorithm = algorithm_.at(s);
      for (const std::string_view word : {"Winograd", "FFT", "implicit GEMM"}) {
        if (Contains(told.algorithm, word) && Contains(algorithm, word)) same.push_back(s);
      }
    }
    if (told.family == kTransform) return same.empty() ? convolutions : same;
    if (told.family == kSoftmax || told.family == kRecurrent) {
      const KernelFamily of = told.family == kSoftmax ? kAttention : kRecurrent;
      std::erase_if(products, [&](std::size_t s) { return slots_[s].family != of; });
    }
    return products;
  }

  void AddOthers() {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const KernelFamily family = told_[r].family;
      if (IsWork(r) && !row_slots_[r].empty()) continue;  // done
      const bool around = family == kTransform || family == kEpilogue || family == kElementwise ||
                          family == kLayout || (family == kSoftmax && Has(kAttention)) ||
                          (family == kRecurrent && Has(kRecurrent));
      if (!row_slots_[r].empty() && around && Beyond(family)) {
        // More launches than operators of the family: most are what products are followed by.
        std::vector<std::size_t> all = Served(told_[r]);
        all.insert(all.end(), row_slots_[r].begin(), row_slots_[r].end());
        std::sort(all.begin(), all.end());
        Measured& to = Group(all, true);
        tally_.Add(to, rows_[r], Launches(r), false);
        to.joined_by = "family, beside the products";
        to.confidence = 0.3;
      } else if (!row_slots_[r].empty()) {
        Measured& to = Group(row_slots_[r], false);
        tally_.Add(to, rows_[r], Launches(r), true);
        to.main = told_[r];
        to.joined_by = "family: the file folds launches by kernel name";
        to.confidence = 0.3;
      } else if (const auto served = Served(told_[r]); around && !served.empty()) {
        // One group of products: it is theirs. Several: beside them, told apart from none.
        const auto group = groups_.find(std::pair(false, served));
        const bool theirs = served.size() == 1 || group != groups_.end();
        Measured& to = Group(served, !theirs);
        tally_.Add(to, rows_[r], Launches(r), false);
        if (!theirs) {
          to.joined_by = "family, beside the products";
          to.confidence = 0.3;
        }
      } else {
        joined_.unmatched.push_back(
            tally_.Unmatched(rows_[r], Launches(r), WhyUnmatched(rows_[r], family)));
      }
    }
  }

  bool Beyond(KernelFamily family) const {
    double launches = 0, slots = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r)
      launches += told_[r].family == family ? Launches(r) : 0;
    for (const Slot& slot : slots_) slots += slot.family == family ? 1 : 0;
    return launches > slots + 0.5;
  }

  bool Has(KernelFamily family) const {
    return std::any_of(worked_.begin(), worked_.end(),
                       [&](std::size_t s) { return slots_[s].family == family; });
  }

  const Report& report_;
  const std::vector<Slot>& slots_;
  const std::vector<MeasuredKernel>& rows_;
  const std::optional<Device>& device_;
  const double runs_;
  Tally& tally_;
  Joined& joined_;
  std::vector<KernelName> told_;  // as rows_
  std::vector<bool> perhaps_;     // as rows_: no name says that it is a product, but its work does
  std::vector<std::vector<std::size_t>> row_slots_;  // as rows_
  bool fused_attention_ = false;                     // attention has kernels of its own
  std::vector<bool> taken_;                          // slots that a row took for itself
  std::set<std::size_t> narrowed_;                   // rows
  std::set<std::size_t> worked_;                     // slots with products
  std::map<std::size_t, std::string> algorithm_;     // of all kernels of a slot
  std::map<std::pair<bool, std::vector<std::size_t>>, std::size_t> groups_;  // to joined_.shared
};

}  // namespace

void JoinFolded(const Report& report, const std::vector<Slot>& slots,
                const std::vector<MeasuredKernel>& rows, const std::optional<Device>& device,
                std::int64_t runs, Tally& tally, Joined& joined) {
  FoldedJoiner(report, slots, rows, device, runs, tally, joined).Run();
}

}  // namespace dlcost
