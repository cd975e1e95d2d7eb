#include "estimator/compare/folded_slots.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "estimator/compare/as_run.h"
#include "estimator/compare/choose_products.h"
#include "estimator/compare/evidence.h"
#include "estimator/compare/op_family.h"
#include "estimator/core/integer.h"

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

class SlotFinder {
 public:
  SlotFinder(const Report& report, const std::vector<Slot>& slots,
             const std::vector<MeasuredKernel>& rows, const std::optional<Device>& device,
             double runs, Tally& tally)
      : report_(report),
        slots_(slots),
        rows_(rows),
        device_(device),
        runs_(runs),
        tally_(tally),
        taken_(slots.size(), false),
        covered_(slots.size(), false) {}

  FoldedSlots Run() {
    out_.slots.resize(rows_.size());
    for (const MeasuredKernel& row : rows_) {
      out_.told.push_back(ToldBy(row));
      fused_attention_ |= out_.told.back().family == kAttention;
    }
    FindCovered();
    FindPerhaps();
    Narrow();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (out_.slots[r].empty() && !out_.perhaps[r]) out_.slots[r] = LeftFor(r);
    }
    const std::vector<std::size_t> left = LeftProducts();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (out_.slots[r].empty() && out_.perhaps[r]) out_.slots[r] = left;
    }
    Merge();
    return std::move(out_);
  }

 private:
  std::size_t IndexOf(const Slot& slot) const {
    return static_cast<std::size_t>(&slot - slots_.data());
  }
  double Launches(std::size_t r) const { return static_cast<double>(rows_[r].launches) / runs_; }

  // Products that the model has and that no row's name tells of: at least one for an operator, at
  // most as many as operators with several have.
  struct Missing {
    double least = 0, most = 0;
    double smallest = 0;                // work of a product
    double flops = 0, algorithmic = 0;  // of all operators that no row's name tells of
  };

  Missing FindMissing() const {
    Missing missing;
    for (const Slot& slot : slots_) {
      missing.least += slot.products > 0 ? 1 : 0;
      missing.most += slot.products > 0 ? slot.most : 0;
      if (slot.products > 0 && !covered_[IndexOf(slot)]) {
        missing.flops += slot.flops.value_or(0);
        missing.algorithmic += slot.algorithmic.value_or(0);
      }
      const double each = slot.algorithmic.value_or(0) / std::max(1.0, slot.most);
      if (each > 0 && (missing.smallest == 0 || each < missing.smallest)) missing.smallest = each;
    }
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (!IsProduct(out_.told[r].family)) continue;
      missing.least -= Launches(r);
      missing.most -= Launches(r);
    }
    return missing;
  }

  // Rows whose names tell nothing: products, where one launch counts as many FLOPs as one of the
  // model's may, and where together they launch as often as products are missing.
  void FindPerhaps() {
    out_.perhaps.assign(rows_.size(), false);
    const Missing missing = FindMissing();
    if (missing.most < 0.5) return;
    bool counted = false, tensor = MayUseMatrixPipe(report_, device_);
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      counted |= tally_.VectorFlops(rows_[r]).has_value();
      tensor |= out_.told[r].tensor;
    }
    std::vector<PerhapsRow> rows;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (out_.told[r].family != kUnknown) continue;
      const double launches = Launches(r);
      const bool whole = std::abs(launches - std::round(launches)) < 1e-9;
      if (!whole || launches > missing.most + 0.5) continue;
      const double flops = tally_.VectorFlops(rows_[r]).value_or(0);
      // On the matrix pipe no counter sees them, though that need not be.
      if (counted && !tensor && flops < 0.3 * missing.smallest) continue;
      const double seconds = rows_[r].duration ? rows_[r].duration->value() : 0;
      const bool possible = std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
        return IsProduct(slot.family) && !covered_[IndexOf(slot)] &&
               !(seconds > 0 && TooFastFor(slot, seconds, tensor));
      });
      if (!possible) continue;
      rows.push_back(
          {r, RoundToInteger<std::size_t>(launches), flops * launches, seconds * launches});
    }
    const std::vector<std::size_t> chosen =
        ChooseProducts(std::move(rows), std::max(0.0, missing.least), missing.most,
                       {missing.flops, missing.algorithmic});
    for (const std::size_t r : chosen) out_.perhaps[r] = true;
  }

  // Whether the algorithm that the name tells can run the operator at all.
  bool Runs(const KernelName& told, const Slot& slot) const {
    if (MethodOf(told.algorithm) == KernelMethod::kDepthwise && !slot.depthwise) return false;
    const KernelRow& kernel = report_.kernels[slot.kernel];
    const bool winograd = MethodOf(told.algorithm) == KernelMethod::kWinograd;
    if (!device_ || !kernel.execution || !IsTransformed(told.algorithm)) return true;
    const Algorithm ran = ExecutionAsRun(kernel, told, *device_)->algorithm;
    return ran == (winograd ? Algorithm::kWinograd : Algorithm::kFft) ||
           (winograd && ran == Algorithm::kWinogradNonfused);
  }

  bool Suits(KernelFamily row, const Slot& slot) const {
    if (row == slot.family || (row == kUnknown && IsProduct(slot.family))) return true;
    return row == kGemm && (slot.family == kRecurrent || slot.family == kAttention);
  }

  // What the slot executes when the row's kernel runs it, worked out once; nothing where it cannot.
  std::optional<double> AsRun(std::size_t r, std::size_t s) {
    const auto [at, added] = as_run_.try_emplace(std::pair(r, s));
    if (added && Runs(out_.told[r], slots_[s]))
      at->second = ProductFlops(report_, slots_[s], out_.told[r], device_);
    return at->second;
  }

  struct Proposal {
    std::size_t row;
    std::vector<std::size_t> slots;
    double off;
  };

  // All sets of so many operators, or single ones that own several products, whose work is the
  // row's; the best, when it is close and nothing else is.
  std::optional<Proposal> Propose(std::size_t r) {
    const KernelName& told = out_.told[r];
    const std::optional<double> each = tally_.VectorFlops(rows_[r]);
    if (!out_.IsWork(r) || told.tensor || !each || *each <= 0) return std::nullopt;
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
        if (taken_[s] || !Suits(told.family, slots_[s])) continue;
        const std::optional<double> run = AsRun(r, s);
        if (!run) continue;
        const double work = as_run ? *run : slots_[s].algorithmic.value_or(0);
        if (slots_[s].several) {
          offer({s}, work);
        } else {
          open.emplace_back(s, work);
        }
      }
      // The only operators that it can run, and as many: then it ran these.
      only |= as_run && open.size() == count && MethodOf(told.algorithm) == KernelMethod::kWinograd;
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
        if (!out_.slots[r].empty()) continue;
        auto proposal = Propose(r);
        if (proposal && (!best || proposal->off < best->off)) best = std::move(proposal);
      }
      if (!best) return;
      for (const std::size_t s : best->slots) taken_[s] = true;
      out_.slots[best->row] = best->slots;
      out_.narrowed.insert(best->row);
    }
  }

  // Operators that rows of their family launch as often as there are any, by their names.
  void FindCovered() {
    std::map<std::vector<std::size_t>, double> launches;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (IsProduct(out_.told[r].family)) launches[LeftFor(r)] += Launches(r);
    }
    for (const auto& entry : launches) {
      const std::vector<std::size_t>& set = entry.first;
      double most = 0, count = 0;
      for (const std::size_t s : set) most += slots_[s].most;
      for (const auto& [part, of_part] : launches) {
        if (std::includes(set.begin(), set.end(), part.begin(), part.end())) count += of_part;
      }
      if (count < most - 0.5) continue;
      for (const std::size_t s : set) covered_[s] = true;
    }
  }

  // What is left of all products, for rows whose names do not tell which.
  std::vector<std::size_t> LeftProducts() const {
    std::vector<std::size_t> left, open;
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      if (!IsProduct(slots_[s].family) || taken_[s]) continue;
      left.push_back(s);
      if (!covered_[s]) open.push_back(s);
    }
    return open.empty() ? left : open;
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

  // The same, but for operators that the row's kernel cannot run.
  std::vector<std::size_t> LeftFor(std::size_t r) const {
    const KernelName& told = out_.told[r];
    std::vector<std::size_t> left = Left(told.family);
    std::erase_if(left, [&](std::size_t s) {
      return !Runs(told, slots_[s]) ||
             (told.family == kPooling && !SameKindOfPool(slots_[s], rows_[r].name));
    });
    return left;
  }

  // Rows that share an operator share all of theirs.
  void Merge() {
    for (bool merged = true; merged;) {
      merged = false;
      for (std::size_t a = 0; a < rows_.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
          std::vector<std::size_t>&x = out_.slots[a], &y = out_.slots[b];
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

  const Report& report_;
  const std::vector<Slot>& slots_;
  const std::vector<MeasuredKernel>& rows_;
  const std::optional<Device>& device_;
  const double runs_;
  Tally& tally_;
  std::map<std::pair<std::size_t, std::size_t>, std::optional<double>> as_run_;  // of row and slot
  std::vector<bool> taken_;       // slots that a row took for itself
  std::vector<bool> covered_;     // slots of rows that launch as often as there are slots
  bool fused_attention_ = false;  // attention has kernels of its own
  FoldedSlots out_;
};

}  // namespace

bool FoldedSlots::IsWork(std::size_t row) const {
  return IsProduct(told[row].family) || perhaps[row];
}

FoldedSlots FindFoldedSlots(const Report& report, const std::vector<Slot>& slots,
                            const std::vector<MeasuredKernel>& rows,
                            const std::optional<Device>& device, double runs, Tally& tally) {
  return SlotFinder(report, slots, rows, device, runs, tally).Run();
}

}  // namespace dlcost
