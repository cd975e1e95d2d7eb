#include "estimator/compare/align.h"

#include <algorithm>
#include <cmath>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

using enum KernelFamily;

constexpr int kImpossible = -1'000'000'000;
constexpr std::size_t kMaxCells = std::size_t{1} << 26;

bool IsProduct(KernelFamily family) {
  return family == kConvolution || family == kGemm || family == kAttention || family == kRecurrent;
}

// Scores are tenths of what a certain match of a convolution with a convolution is worth.
int FlopScore(const Slot& slot, const Item& item) {
  if (item.tensor || !slot.flops || !item.flops || *slot.flops <= 0 || *item.flops <= 0) return 0;
  const double distance = std::abs(std::log2(*item.flops / *slot.flops));
  return distance > 2 ? -30 : RoundToInteger<int>(40 * (1 - distance));
}

// Pooling by maximum is not pooling by average.
bool SameKindOfPool(const Slot& slot, const Item& item) {
  const std::string name = Lower(item.name);
  const bool item_average = Contains(name, "average") || Contains(name, "avg");
  const bool item_max = Contains(name, "max");
  const std::string op = Lower(slot.op);
  if (Contains(op, "max")) return !item_average;
  if (Contains(op, "average")) return !item_max || item_average;
  return true;
}

int MainScore(const Slot& slot, const Item& item) {
  if (item.family == slot.family) {
    if (item.family == kPooling && !SameKindOfPool(slot, item)) return kImpossible;
    return (IsProduct(item.family) ? 100 : 80) + FlopScore(slot, item);
  }
  // A 1x1 convolution is a matrix product, and libraries run it as one; recurrent cells are built
  // of products; fused attention may come as its products.
  if (IsProduct(item.family) && IsProduct(slot.family)) return 50 + FlopScore(slot, item);
  if (item.family == kUnknown) return 5 + FlopScore(slot, item);
  // Normalization at inference, casts and the like run as plain elementwise kernels or reductions.
  const bool simple = slot.family == kNormalization || slot.family == kQuantize ||
                      slot.family == kLayout || slot.family == kReduction ||
                      slot.family == kSoftmax || slot.family == kEmbedding;
  if (simple &&
      (item.family == kElementwise || item.family == kReduction || item.family == kLayout))
    return 20;
  return kImpossible;
}

int HelperScore(const Slot& slot, const Item& item, bool main_seen) {
  if (!IsProduct(slot.family)) return kImpossible;
  switch (item.family) {
    case kTransform:
    case kLayout:
      return 30;
    case kEpilogue:
      return main_seen ? 40 : kImpossible;
    case kElementwise:
      return main_seen && slot.follows ? 30 : kImpossible;
    case kReduction:
      return main_seen ? 5 : kImpossible;
    default:
      return kImpossible;
  }
}

int SkipItemScore(const Item& item) {
  if (IsProduct(item.family)) return -60;
  const bool foreign = item.family == kRandom || item.family == kFill || item.family == kDropout;
  return foreign ? 0 : -10;
}

int SkipSlotScore(const Slot& slot) { return IsProduct(slot.family) ? -80 : -20; }

enum Step : unsigned char { kNone, kAdvance, kAdvanceUnseen, kSkip, kMain, kHelper };

// best[i][seen] before item j: slot i - 1 is the current one (0: none yet), `seen` its main item.
class Aligner {
 public:
  Aligner(const std::vector<Slot>& slots, const std::vector<Item>& items)
      : slots_(slots), items_(items), width_(2 * (slots.size() + 1)) {
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
      const Slot& slot = slots_[state / 2 - 1];
      const bool seen = state % 2 == 1;
      if (!seen) offer(state + 1, best[state] + MainScore(slot, items_[j]), kMain);
      offer(state, best[state] + HelperScore(slot, items_[j], seen), kHelper);
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
          result[j] = {slot, true, MainScore(slots_[state / 2 - 1], items_[j])};
          --state;
        } else if (step == kHelper) {
          result[j] = {slot, false, HelperScore(slots_[state / 2 - 1], items_[j], state % 2 == 1)};
        }
      }
    }
    return result;
  }

  const std::vector<Slot>& slots_;
  const std::vector<Item>& items_;
  const std::size_t width_;
  std::vector<Step> steps_;
};

}  // namespace

std::vector<Assignment> Align(const std::vector<Slot>& slots, const std::vector<Item>& items) {
  if (slots.empty() || items.empty()) return std::vector<Assignment>(items.size());
  return Aligner(slots, items).Run();
}

}  // namespace dlcost
