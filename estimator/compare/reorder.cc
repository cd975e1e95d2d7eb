#include "estimator/compare/reorder.h"

#include <algorithm>

#include "estimator/compare/op_family.h"

namespace dlcost {
namespace {

constexpr std::size_t kWindow = 6;  // products between two that exchange places
constexpr int kClearly = 25;        // by how much both fits together must improve
constexpr int kFits = 110;          // of a left over product: its family, and its counts or time

// Whether slot `b` needs, directly or not, what slot `a` makes; a < b.
bool Waits(const std::vector<Slot>& slots, std::size_t a, std::size_t b) {
  std::vector<std::size_t> open = {b};
  std::vector<bool> seen(b + 1, false);
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    for (const std::size_t from : slots[at].after) {
      if (from == a) return true;
      if (from < a || from > b || seen[from]) continue;
      seen[from] = true;
      open.push_back(from);
    }
  }
  return false;
}

struct Main {
  std::size_t item, slot;
};

std::vector<Main> ProductsOf(const std::vector<Slot>& slots,
                             const std::vector<Assignment>& assignments) {
  std::vector<Main> mains;
  for (std::size_t i = 0; i < assignments.size(); ++i) {
    if (!assignments[i].main) continue;
    const auto slot = static_cast<std::size_t>(assignments[i].slot);
    if (IsProduct(slots[slot].family)) mains.push_back({i, slot});
  }
  return mains;
}

}  // namespace

void Reorder(const std::vector<Slot>& slots, const std::vector<Item>& items,
             std::optional<double> pace, std::vector<Assignment>& assignments) {
  std::vector<Main> mains = ProductsOf(slots, assignments);
  const auto score = [&](std::size_t slot, std::size_t item) {
    return items[item].named >= 0 ? kImpossible / 4 : MainScore(slots[slot], items[item], pace);
  };
  for (std::size_t i = 0; i < mains.size(); ++i) {
    for (std::size_t j = i + 1; j < std::min(mains.size(), i + kWindow); ++j) {
      Main &a = mains[i], &b = mains[j];
      const int now = score(a.slot, a.item) + score(b.slot, b.item);
      const int then = score(b.slot, a.item) + score(a.slot, b.item);
      const auto [first, last] = std::minmax(a.slot, b.slot);
      if (then < now + kClearly || Waits(slots, first, last)) continue;
      for (Assignment& to : assignments) {
        if (to.slot == static_cast<int>(a.slot)) {
          to.slot = static_cast<int>(b.slot);
        } else if (to.slot == static_cast<int>(b.slot)) {
          to.slot = static_cast<int>(a.slot);
        }
      }
      std::swap(a.slot, b.slot);
    }
  }
  std::vector<bool> taken(slots.size(), false);
  for (const Assignment& to : assignments) {
    if (to.main) taken[static_cast<std::size_t>(to.slot)] = true;
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (assignments[i].slot >= 0 || !IsProduct(items[i].family) || items[i].named >= 0) continue;
    std::size_t best = slots.size();
    for (std::size_t s = 0; s < slots.size(); ++s) {
      if (taken[s] || !IsProduct(slots[s].family) || score(s, i) < kFits) continue;
      if (best == slots.size() || score(s, i) > score(best, i)) best = s;
    }
    if (best == slots.size()) continue;
    // It ran after everything that it reads: products before it in time are no successors of it.
    const bool possible = std::none_of(mains.begin(), mains.end(), [&](const Main& main) {
      return main.item < i ? main.slot > best && Waits(slots, best, main.slot)
                           : main.slot < best && Waits(slots, main.slot, best);
    });
    if (!possible) continue;
    assignments[i] = {static_cast<int>(best), true, score(best, i)};
    taken[best] = true;
  }
}

}  // namespace dlcost
