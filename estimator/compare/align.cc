#include "estimator/compare/align.h"

#include <algorithm>
#include <cmath>

#include "estimator/compare/op_family.h"
#include "estimator/compare/reorder.h"
#include "estimator/core/error.h"

namespace dlcost {
namespace {

constexpr std::size_t kMaxCells = std::size_t{1} << 26;

enum Step : unsigned char { kNone, kAdvance, kAdvanceUnseen, kSkip, kMain, kHelper };

// best[i][seen] before item j: slot i - 1 is the current one (0: none yet), `seen` its main item.
class Aligner {
 public:
  Aligner(const std::vector<Slot>& slots, const std::vector<Item>& items,
          std::optional<double> pace)
      : slots_(slots), items_(items), pace_(pace), width_(2 * (slots.size() + 1)) {
    if (width_ * (items.size() + 1) > kMaxCells) {
      throw Error(
          "{} kernels against {} operators are too many to join by order; profile one run, or "
          "name the kernels by NVTX ranges",
          items.size(), slots.size());
    }
    steps_.resize(width_ * (items.size() + 1), kNone);
  }

  std::vector<Assignment> Run() {
    std::vector<int> best(width_, kImpossible);
    best[1] = 0;  // before the first slot nothing is missing
    Advance(best, 0);
    for (std::size_t j = 0; j < items_.size(); ++j) {
      best = Take(best, j);
      Advance(best, j + 1);
    }
    return Backtrack(best);
  }

 private:
  // What an annotation names is settled: nothing else takes the item.
  int Main(std::size_t slot, std::size_t item) const {
    const int named = items_[item].named;
    const int score = MainScore(slots_[slot], items_[item], pace_);
    if (named < 0) return score;
    return named == static_cast<int>(slot) ? std::max(score, 0) + 200 : kImpossible;
  }
  int Helper(std::size_t slot, std::size_t item, bool seen) const {
    const int named = items_[item].named;
    if (named < 0) return HelperScore(slots_[slot], items_[item], seen);
    return named == static_cast<int>(slot) ? 150 : kImpossible;
  }

  Step& StepAt(std::size_t j, std::size_t state) { return steps_[j * width_ + state]; }

  void Advance(std::vector<int>& best, std::size_t j) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const int seen = best[2 * i + 1];
      const int unseen = i == 0 ? kImpossible : best[2 * i] + SkipSlotScore(slots_[i - 1]);
      int& next = best[2 * (i + 1)];
      if (seen > next && seen >= unseen && seen > kImpossible / 2) {
        next = seen;
        StepAt(j, 2 * (i + 1)) = kAdvance;
      } else if (unseen > next && unseen > kImpossible / 2) {
        next = unseen;
        StepAt(j, 2 * (i + 1)) = kAdvanceUnseen;
      }
    }
  }

  std::vector<int> Take(const std::vector<int>& best, std::size_t j) {
    std::vector<int> next(width_, kImpossible);
    const auto offer = [&](std::size_t state, int score, Step step) {
      if (score > kImpossible / 2 && score > next[state]) {
        next[state] = score;
        StepAt(j + 1, state) = step;
      }
    };
    for (std::size_t state = 0; state < width_; ++state) {
      if (best[state] <= kImpossible / 2) continue;
      offer(state, best[state] + SkipItemScore(items_[j]), kSkip);
      if (state < 2) continue;
      const bool seen = state % 2 == 1;
      if (!seen) offer(state + 1, best[state] + Main(state / 2 - 1, j), kMain);
      offer(state, best[state] + Helper(state / 2 - 1, j, seen), kHelper);
    }
    return next;
  }

  std::vector<Assignment> Backtrack(const std::vector<int>& best) {
    // What the remaining slots would cost is the same for all ends but for the slots themselves.
    std::size_t state = 1;
    int top = kImpossible;
    std::vector<int> rest(slots_.size() + 1, 0);
    for (std::size_t i = slots_.size(); i-- > 0;) rest[i] = rest[i + 1] + SkipSlotScore(slots_[i]);
    for (std::size_t s = 0; s < width_; ++s) {
      if (best[s] <= kImpossible / 2) continue;
      const std::size_t slot = s / 2;
      const int score =
          best[s] + rest[slot] + (s % 2 == 0 && slot > 0 ? SkipSlotScore(slots_[slot - 1]) : 0);
      if (score > top) {
        top = score;
        state = s;
      }
    }
    std::vector<Assignment> result(items_.size());
    for (std::size_t j = items_.size();;) {
      const Step step = StepAt(j, state);
      if (step == kAdvance) {
        state = state - 2 + 1;
      } else if (step == kAdvanceUnseen) {
        state -= 2;
      } else if (j == 0 || step == kNone) {
        break;
      } else {
        --j;
        const int slot = static_cast<int>(state / 2) - 1;
        if (step == kMain) {
          result[j] = {slot, true, Main(state / 2 - 1, j)};
          --state;
        } else if (step == kHelper) {
          result[j] = {slot, false, Helper(state / 2 - 1, j, state % 2 == 1)};
        }
      }
    }
    return result;
  }

  const std::vector<Slot>& slots_;
  const std::vector<Item>& items_;
  const std::optional<double> pace_;
  const std::size_t width_;
  std::vector<Step> steps_;
};

// log2 of how much slower the run is than expected: the median over products. None where too few
// have a time.
std::optional<double> PaceOf(const std::vector<Slot>& slots, const std::vector<Item>& items,
                             const std::vector<Assignment>& assignments) {
  constexpr std::size_t kEnough = 3;
  std::vector<double> off;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!assignments[i].main) continue;
    const Slot& slot = slots[static_cast<std::size_t>(assignments[i].slot)];
    const Item& item = items[i];
    if (!IsProduct(slot.family) || !slot.seconds || !item.seconds) continue;
    if (*slot.seconds > 0 && *item.seconds > 0)
      off.push_back(std::log2(*item.seconds / *slot.seconds));
  }
  if (off.size() < kEnough) return std::nullopt;
  const auto middle = off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2);
  std::nth_element(off.begin(), middle, off.end());
  return *middle;
}

}  // namespace

std::vector<Assignment> Align(const std::vector<Slot>& slots, const std::vector<Item>& items) {
  if (slots.empty() || items.empty()) return std::vector<Assignment>(items.size());
  std::vector<Assignment> assignments = Aligner(slots, items, std::nullopt).Run();
  const std::optional<double> pace = PaceOf(slots, items, assignments);
  if (pace) assignments = Aligner(slots, items, pace).Run();
  Reorder(slots, items, pace, assignments);
  Share(slots, items, assignments);
  return assignments;
}

}  // namespace dlcost
