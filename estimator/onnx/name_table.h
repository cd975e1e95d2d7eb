#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace dlcost {

// Numbers by name, for tables far larger than a processor's caches: eight bytes are touched to find
// that a name is new, and its own entry besides where it is known. A hash table of nodes touches
// two to four places. Names are the caller's and must stay.
class NameTable {
 public:
  struct Entry {
    std::string_view name;
    std::int32_t number;
  };

  // Room for so many; a little more each time does not copy everything each time.
  void Reserve(std::size_t names) {
    if (names > entries_.capacity()) entries_.reserve(std::max(names, 2 * entries_.capacity()));
    if (2 * names > slots_.size()) Rehash(2 * names);
  }

  // The entry of a name, or null. Pointers hold until the next Insert.
  Entry* Find(std::string_view name) {
    if (slots_.empty()) return nullptr;
    Slot& slot = SlotOf(name, Hash(name));
    return slot.entry == kFree ? nullptr : &entries_[static_cast<std::size_t>(slot.entry)];
  }

  // False, and nothing is changed, where the name is known.
  bool Insert(std::string_view name, std::int32_t number = 0) {
    if (2 * (entries_.size() + 1) > slots_.size()) Rehash(4 * (entries_.size() + 1));
    const std::uint32_t hash = Hash(name);
    Slot& slot = SlotOf(name, hash);
    if (slot.entry != kFree) return false;
    slot = {hash, static_cast<std::int32_t>(entries_.size())};
    entries_.push_back({name, number});
    return true;
  }

  const std::vector<Entry>& entries() const { return entries_; }  // in the order of insertion

 private:
  static constexpr std::int32_t kFree = -1;
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t entry = kFree;
  };

  static std::uint32_t Hash(std::string_view name) {
    return static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
  }

  // Where the name is, or the free slot where it belongs. At most half of the slots are taken.
  Slot& SlotOf(std::string_view name, std::uint32_t hash) {
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      Slot& slot = slots_[at];
      if (slot.entry == kFree) return slot;
      if (slot.hash == hash && entries_[static_cast<std::size_t>(slot.entry)].name == name) {
        return slot;
      }
    }
  }

  void Rehash(std::size_t least) {
    std::size_t size = 16;
    while (size < least) size *= 2;
    slots_.assign(size, Slot());
    mask_ = size - 1;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const std::uint32_t hash = Hash(entries_[i].name);
      std::size_t at = hash & mask_;
      while (slots_[at].entry != kFree) at = (at + 1) & mask_;
      slots_[at] = {hash, static_cast<std::int32_t>(i)};
    }
  }

  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace dlcost
