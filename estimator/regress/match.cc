#include "estimator/regress/match.h"

#include <algorithm>
#include <compare>
#include <numeric>
#include <span>
#include <utility>

#include "estimator/regress/hash.h"

namespace dlcost {
namespace {

using Nodes = std::vector<MatchNode>;
using Key = std::uint64_t;

// A consumer of a node: which node, by which input.
struct Use {
  std::int32_t node;
  std::int32_t slot;
};

// What one side knows of its graph.
struct Side {
  const Nodes& nodes;
  // Of node i: all_uses[first_use[i]] up to all_uses[first_use[i + 1]], in order of execution.
  std::vector<Use> all_uses;
  std::vector<std::size_t> first_use;
  std::vector<Key> up;    // of the node and everything that leads to it
  std::vector<Key> down;  // of the node and everything that follows from it
  std::vector<std::int32_t> match;

  explicit Side(const Nodes& all)
      : nodes(all),
        first_use(all.size() + 1),
        up(all.size()),
        down(all.size()),
        match(all.size(), kNoMatch) {
    CollectUses();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      Key key = nodes[i].detail;
      for (std::size_t slot = 0; slot < nodes[i].producers.size(); ++slot) {
        const std::int32_t producer = nodes[i].producers[slot];
        if (producer == kNoMatch) continue;
        key = Combine(Combine(key, slot), up[Index(producer)]);
      }
      up[i] = key;
    }
    for (std::size_t i = nodes.size(); i-- > 0;) {
      // The order of consumers means nothing, so their keys are added up.
      Key sum = nodes[i].is_output ? 1 : 0;
      for (const Use& use : Uses(static_cast<std::int32_t>(i))) {
        sum += Combine(static_cast<Key>(use.slot), down[Index(use.node)]);
      }
      down[i] = Combine(nodes[i].detail, sum);
    }
  }

  void CollectUses() {
    for (const MatchNode& node : nodes) {
      for (const std::int32_t producer : node.producers) {
        if (producer != kNoMatch) ++first_use[Index(producer) + 1];
      }
    }
    std::partial_sum(first_use.begin(), first_use.end(), first_use.begin());
    all_uses.resize(first_use.back());
    std::vector<std::size_t> next = first_use;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (std::size_t slot = 0; slot < nodes[i].producers.size(); ++slot) {
        const std::int32_t producer = nodes[i].producers[slot];
        if (producer == kNoMatch) continue;
        all_uses[next[Index(producer)]++] = {static_cast<std::int32_t>(i),
                                             static_cast<std::int32_t>(slot)};
      }
    }
  }
  std::span<const Use> Uses(std::int32_t i) const {
    return {all_uses.data() + first_use[Index(i)], all_uses.data() + first_use[Index(i) + 1]};
  }

  bool Free(std::int32_t i) const { return i != kNoMatch && match[Index(i)] == kNoMatch; }
};

class Matcher {
 public:
  Matcher(const Nodes& before, const Nodes& after) : before_(before), after_(after) {}

  Matching Run() {
    // What did not change at all, then what lies before every change and behind every change.
    PairByKey([](const Side& side, std::size_t i) { return Combine(side.up[i], side.down[i]); });
    PairByKey([](const Side& side, std::size_t i) { return side.up[i]; });
    PairByKey([](const Side& side, std::size_t i) { return side.down[i]; });
    Spread(/*strict=*/true);
    // Between changes: names, then whatever stands at the same place.
    PairByKey([](const Side& side, std::size_t i) {
      return Combine(HashText(side.nodes[i].name), side.nodes[i].detail);
    });
    Spread(/*strict=*/true);
    PairByKey([](const Side& side, std::size_t i) {
      return Combine(HashText(side.nodes[i].name), side.nodes[i].op);
    });
    Spread(/*strict=*/false);
    PairByKey([](const Side& side, std::size_t i) { return side.nodes[i].detail; });
    Spread(/*strict=*/false);
    PairByKey([](const Side& side, std::size_t i) { return side.nodes[i].core; });
    Spread(/*strict=*/false);
    return {std::move(before_.match), std::move(after_.match)};
  }

 private:
  void Pair(std::int32_t a, std::int32_t b) {
    before_.match[Index(a)] = b;
    after_.match[Index(b)] = a;
    fresh_.push_back({a, b});
  }

  struct Keyed {
    Key key;
    std::int32_t node;
    friend auto operator<=>(const Keyed&, const Keyed&) = default;
  };

  template <typename KeyOf>
  static std::vector<Keyed> FreeByKey(const Side& side, KeyOf key_of) {
    std::vector<Keyed> keyed;
    for (std::size_t i = 0; i < side.nodes.size(); ++i) {
      if (side.match[i] == kNoMatch) {
        keyed.push_back({key_of(side, i), static_cast<std::int32_t>(i)});
      }
    }
    std::sort(keyed.begin(), keyed.end());
    return keyed;
  }

  // Pairs the free nodes whose key occurs equally often on both sides, in order. Twins (parallel
  // branches that are the same) may be paired crosswise, which nobody could tell.
  template <typename KeyOf>
  void PairByKey(KeyOf key_of) {
    const std::vector<Keyed> ours = FreeByKey(before_, key_of);
    if (ours.empty()) return;
    const std::vector<Keyed> theirs = FreeByKey(after_, key_of);
    const auto behind = [](const std::vector<Keyed>& all, std::size_t from) {
      std::size_t to = from;
      while (to < all.size() && all[to].key == all[from].key) ++to;
      return to;
    };
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
    for (std::size_t x = 0, y = 0; x < ours.size() && y < theirs.size();) {
      if (ours[x].key != theirs[y].key) {
        ours[x].key < theirs[y].key ? ++x : ++y;
        continue;
      }
      const std::size_t x_end = behind(ours, x), y_end = behind(theirs, y);
      const bool even = x_end - x == y_end - y;
      for (std::size_t k = 0; even && k < x_end - x; ++k) {
        const std::int32_t a = ours[x + k].node, b = theirs[y + k].node;
        if (before_.nodes[Index(a)].op == after_.nodes[Index(b)].op) {
          pairs.push_back({a, b});
        }
      }
      x = x_end;
      y = y_end;
    }
    std::sort(pairs.begin(), pairs.end());  // neighbours are found in the order of execution
    for (const auto& [a, b] : pairs) Pair(a, b);
  }

  bool Alike(std::int32_t a, std::int32_t b, bool strict) const {
    const MatchNode& x = before_.nodes[Index(a)];
    const MatchNode& y = after_.nodes[Index(b)];
    return strict ? x.detail == y.detail : x.op == y.op;
  }

  // From pairs to their neighbours: what feeds the same input, what reads the same result.
  void Spread(bool strict) {
    if (!strict) Refresh();
    for (std::size_t next = 0; next < fresh_.size(); ++next) {
      const auto [a, b] = fresh_[next];
      const auto& x = before_.nodes[Index(a)].producers;
      const auto& y = after_.nodes[Index(b)].producers;
      for (std::size_t slot = 0; slot < std::min(x.size(), y.size()); ++slot) {
        if (before_.Free(x[slot]) && after_.Free(y[slot]) && Alike(x[slot], y[slot], strict)) {
          Pair(x[slot], y[slot]);
        }
      }
      SpreadToUses(a, b, strict);
    }
    fresh_.clear();
  }

  // Pairs of an earlier, strict pass may have neighbours that a loose one accepts.
  void Refresh() {
    fresh_.clear();
    for (std::size_t i = 0; i < before_.match.size(); ++i) {
      if (before_.match[i] != kNoMatch) {
        fresh_.push_back({static_cast<std::int32_t>(i), before_.match[i]});
      }
    }
  }

  void SpreadToUses(std::int32_t a, std::int32_t b, bool strict) {
    // Each user of b is looked at once: a tensor with thousands of readers stays linear.
    const std::span<const Use> theirs = after_.Uses(b);
    std::size_t from = 0;
    for (const Use& ours : before_.Uses(a)) {
      if (!before_.Free(ours.node)) continue;
      for (std::size_t k = from; k < theirs.size() && k < from + kLookAhead; ++k) {
        if (after_.Free(theirs[k].node) && theirs[k].slot == ours.slot &&
            Alike(ours.node, theirs[k].node, strict)) {
          Pair(ours.node, theirs[k].node);
          from = k + 1;
          break;
        }
      }
    }
  }

  static constexpr std::size_t kLookAhead = 16;

  Side before_;
  Side after_;
  std::vector<std::pair<std::int32_t, std::int32_t>> fresh_;  // pairs to spread from
};

}  // namespace

Matching MatchNodes(const std::vector<MatchNode>& before, const std::vector<MatchNode>& after) {
  return Matcher(before, after).Run();
}

}  // namespace dlcost
