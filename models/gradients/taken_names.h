#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dlcost {

// Names that a graph has, to keep new ones apart from them. By their hashes alone, which moving
// names do not disturb: of two names with one hash the second counts as taken, and is still unique
// with a number.
class TakenNames {
 public:
  void Reserve(std::size_t names) {
    if (2 * names > slots_.size()) Grow(2 * names);
  }

  // False where it was taken before.
  bool Take(std::string_view name) { return Add(name).fresh; }

  // The name, or one with a number where it was taken; taken from now on.
  std::string Unique(std::string name) {
    if (Take(name)) return name;
    std::string unique;
    do {
      const int number = ++slots_[Add(name).at].count;
      unique = name + "#" + std::to_string(number);
    } while (!Take(unique));
    return unique;
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    int count = 0;  // 0: free
  };
  struct Place {
    std::size_t at;
    bool fresh;
  };

  Place Add(std::string_view name) {
    if (2 * (taken_ + 1) > slots_.size()) Grow(4 * (taken_ + 1));
    const std::uint64_t hash = std::hash<std::string_view>{}(name);
    const std::size_t at = SlotOf(hash);
    if (slots_[at].count > 0) return {at, false};
    slots_[at] = {hash, 1};
    ++taken_;
    return {at, true};
  }

  // Where the hash is, or the free slot where it belongs. At most half of the slots are taken.
  std::size_t SlotOf(std::uint64_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at].count > 0 && slots_[at].hash != hash) at = (at + 1) & mask;
    return at;
  }

  void Grow(std::size_t least) {
    std::size_t size = 16;
    while (size < least) size *= 2;
    std::vector<Slot> old(size);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.count > 0) slots_[SlotOf(slot.hash)] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t taken_ = 0;
};

}  // namespace dlcost
