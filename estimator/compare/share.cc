#include <algorithm>
#include <cmath>
#include <map>

#include "estimator/compare/op_family.h"
#include "estimator/compare/reorder.h"

namespace dlcost {
namespace {

// What an item weighs against the others of its group: the counter where all have one, else time,
// else one each.
std::vector<double> Weights(const std::vector<Item>& items, const std::vector<std::size_t>& group) {
  const auto all = [&](auto has) { return std::all_of(group.begin(), group.end(), has); };
  const bool flops = all([&](std::size_t i) { return items[i].flops.has_value(); });
  const bool times = all([&](std::size_t i) { return items[i].seconds.has_value(); });
  std::vector<double> weights;
  for (const std::size_t i : group) {
    weights.push_back(flops ? *items[i].flops : times ? *items[i].seconds : 1);
  }
  return weights;
}

double WorkOf(const Slot& slot) { return slot.algorithmic.value_or(slot.flops.value_or(1)); }

// The name that begins every operator's share: the first product's, when it occurs once for each.
std::string BeginningOf(const std::vector<Item>& items, const std::vector<std::size_t>& group,
                        std::size_t operators) {
  std::map<std::string, std::size_t> count;
  for (const std::size_t i : group) ++count[items[i].name];
  for (const std::size_t i : group) {
    if (count[items[i].name] == operators) return items[i].name;
  }
  return "";
}

}  // namespace

void Share(const std::vector<Slot>& slots, const std::vector<Item>& items,
           std::vector<Assignment>& assignments) {
  for (std::size_t first = 0; first < slots.size();) {
    std::size_t end = first + 1;
    while (slots[first].several && end < slots.size() && slots[end].several &&
           slots[end].op == slots[first].op) {
      ++end;
    }
    const std::size_t operators = end - first;
    std::vector<std::size_t> group;
    for (std::size_t i = 0; operators > 1 && i < items.size(); ++i) {
      const int slot = assignments[i].slot;
      const bool own = slot >= static_cast<int>(first) && slot < static_cast<int>(end);
      if (own && items[i].named < 0) group.push_back(i);
    }
    // One item each is what order says already.
    if (group.size() > operators) {
      const std::vector<double> weights = Weights(items, group);
      double whole = 0, expected = 0;
      for (const double weight : weights) whole += weight;
      for (std::size_t s = first; s < end; ++s) expected += WorkOf(slots[s]);
      const std::string beginning = BeginningOf(items, group, operators);
      std::size_t slot = first;
      double taken = 0, due = WorkOf(slots[first]) / expected;
      bool main = false;
      for (std::size_t g = 0; g < group.size(); ++g) {
        const bool next = beginning.empty()
                              ? (taken + weights[g] / 2) / whole > due
                              : items[group[g]].name == beginning && (main || slot > first);
        if (next && g > 0 && slot + 1 < end && main) {
          ++slot;
          due += WorkOf(slots[slot]) / expected;
          main = false;
        }
        taken += weights[g];
        Assignment& to = assignments[group[g]];
        to.slot = static_cast<int>(slot);
        const KernelFamily family = items[group[g]].family;
        to.main = !main && (IsProduct(family) || family == KernelFamily::kUnknown);
        main |= to.main;
      }
    }
    first = end;
  }
}

}  // namespace dlcost
