#include "estimator/regress/causes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "estimator/regress/nearest_cause.h"

namespace dlcost {
namespace {

// Disjoint sets of causes.
class Sets {
 public:
  int Add() {
    parents_.push_back(static_cast<int>(parents_.size()));
    return parents_.back();
  }
  int Root(int cause) {
    while (parents_[Index(cause)] != cause) {
      parents_[Index(cause)] = parents_[Index(parents_[Index(cause)])];
      cause = parents_[Index(cause)];
    }
    return cause;
  }
  void Join(int a, int b) {
    if (a == kNoCause || b == kNoCause) return;
    const int x = Root(a), y = Root(b);
    parents_[Index(std::max(x, y))] = std::min(x, y);
  }
  std::size_t size() const { return parents_.size(); }

 private:
  std::vector<int> parents_;
};

class Finder {
 public:
  explicit Finder(const GraphComparison& c)
      : c_(c), before_(c.before.nodes.size(), kNoCause), after_(c.after.nodes.size(), kNoCause) {}

  std::vector<Cause> Run() {
    FindInputs();
    FindAddedAndRemoved();
    for (std::size_t i = 0; i < after_.size(); ++i) {
      if (c_.matching.after_to_before[i] != kNoMatch) Assign(static_cast<std::int32_t>(i));
    }
    if (c_.same_conditions && sets_.size() > 0) Regroup();
    return Collect();
  }

 private:
  const NodeDelta& Delta(std::int32_t b) const { return c_.deltas[Index(b)]; }
  std::int32_t Partner(std::int32_t b) const { return c_.matching.after_to_before[Index(b)]; }

  void FindInputs() {
    const auto &a = c_.before.inputs, &b = c_.after.inputs;
    const auto compare = [&](const Operand* before, const Operand* after) {
      if (before->shape != after->shape) {
        input_causes_[after->name] = {sets_.Add(), {before, after}};
      }
    };
    if (a.size() == b.size()) {
      for (std::size_t i = 0; i < a.size(); ++i) compare(a[i], b[i]);
    } else {  // those that are new or gone show in the nodes that read them
      std::map<std::string_view, const Operand*> by_name;
      for (const Operand* input : a) by_name[input->name] = input;
      for (const Operand* input : b) {
        const auto found = by_name.find(input->name);
        if (found != by_name.end()) compare(found->second, input);
      }
    }
    // A new batch or sequence length changes every input at once: one act.
    for (const auto& [name, input] : input_causes_) sets_.Join(0, input.cause);
  }

  // Nodes without a partner that touch each other, or stand at the same place, belong together.
  void FindAddedAndRemoved() {
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (c_.matching.before_to_after[i] != kNoMatch) continue;
      before_[i] = sets_.Add();
      for (const std::int32_t p : c_.before.nodes[i].producers) {
        if (p != kNoMatch) sets_.Join(before_[i], before_[Index(p)]);
      }
    }
    for (std::size_t i = 0; i < after_.size(); ++i) {
      if (c_.matching.after_to_before[i] != kNoMatch) continue;
      after_[i] = sets_.Add();
      for (const std::int32_t p : c_.after.nodes[i].producers) {
        if (p != kNoMatch) sets_.Join(after_[i], after_[Index(p)]);
      }
    }
    std::map<std::pair<std::int32_t, bool>, int> at;  // a matched neighbour and its side -> cause
    for (std::size_t i = 0; i < after_.size(); ++i) {
      if (c_.matching.after_to_before[i] != kNoMatch) continue;
      for (const std::int32_t p : c_.after.nodes[i].producers) {
        if (p != kNoMatch && Partner(p) != kNoMatch) at[{p, true}] = after_[i];
      }
      for (const std::int32_t use : c_.after.Consumers(i)) {
        if (Partner(use) != kNoMatch) at[{use, false}] = after_[i];
      }
    }
    const auto join = [&](std::size_t i, std::int32_t neighbour, bool producer) {
      const std::int32_t b = c_.matching.before_to_after[Index(neighbour)];
      const auto found = at.find({b, producer});
      if (b != kNoMatch && found != at.end()) sets_.Join(before_[i], found->second);
    };
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (before_[i] == kNoCause) continue;
      for (const std::int32_t p : c_.before.nodes[i].producers) {
        if (p != kNoMatch) join(i, p, true);
      }
      for (const std::int32_t use : c_.before.Consumers(i)) join(i, use, false);
    }
  }

  // The cause of whatever feeds a node, in the later graph or in the earlier one.
  int Upstream(std::int32_t b) {
    for (const std::int32_t p : c_.after.nodes[Index(b)].producers) {
      if (p != kNoMatch && after_[Index(p)] != kNoCause) return after_[Index(p)];
    }
    for (const std::int32_t p : c_.before.nodes[Index(Partner(b))].producers) {
      if (p != kNoMatch && before_[Index(p)] != kNoCause) return before_[Index(p)];
    }
    for (const Operand& input : c_.after.Row(b).inputs) {
      const auto found = input_causes_.find(input.name);
      if (found != input_causes_.end()) return found->second.cause;
    }
    return kNoCause;
  }

  void Assign(std::int32_t b) {
    const NodeDelta& delta = Delta(b);
    int& cause = after_[Index(b)];
    if (delta.Own()) {
      cause = sets_.Add();
      own_.push_back(b);
      if (delta.in_before) sets_.Join(cause, Upstream(b));
      JoinFoldedNeighbours(b);
    } else if (delta.in_before || delta.shapes) {
      cause = Upstream(b);
      if (cause == kNoCause) cause = sets_.Add();  // from a part that is not compared
      (delta.in_before ? readers_ : followers_).push_back(b);
    } else if (!delta.Any() && IsRewired(b)) {
      cause = sets_.Add();
      moved_.push_back(b);
    }
  }

  // A normalization folded into a convolution leaves a bias behind, an activation another operator;
  // and the other way round.
  void JoinFoldedNeighbours(std::int32_t b) {
    if (Delta(b).fusion) {
      for (const std::int32_t use : c_.before.Consumers(Index(Partner(b)))) {
        sets_.Join(after_[Index(b)], before_[Index(use)]);  // if it is gone
      }
      for (const std::int32_t use : c_.after.Consumers(Index(b))) {
        if (Partner(use) == kNoMatch) sets_.Join(after_[Index(b)], after_[Index(use)]);
      }
    }
    if (Delta(b).weights.empty()) return;
    for (const std::int32_t use : c_.before.Consumers(Index(Partner(b)))) {
      if (c_.before.Row(use).op == "BatchNormalization") {
        sets_.Join(after_[Index(b)], before_[Index(use)]);
      }
    }
    for (const std::int32_t use : c_.after.Consumers(Index(b))) {
      if (c_.after.Row(use).op == "BatchNormalization") {
        sets_.Join(after_[Index(b)], after_[Index(use)]);
      }
    }
  }

  bool IsRewired(std::int32_t b) const {
    const auto now = c_.after.nodes[Index(b)].producers;
    const auto then = c_.before.nodes[Index(Partner(b))].producers;
    for (std::size_t slot = 0; slot < std::min(now.size(), then.size()); ++slot) {
      if (now[slot] == kNoMatch || then[slot] == kNoMatch) continue;
      const std::int32_t was = Partner(now[slot]);
      // An added or removed neighbour explains itself.
      const bool both_known =
          was != kNoMatch && c_.matching.before_to_after[Index(then[slot])] != kNoMatch;
      if (both_known && was != then[slot]) return true;
    }
    return false;
  }

  // Nodes that did not change and cost something else all the same are in other kernels now, and
  // some change made them so.
  void Regroup() {
    for (std::size_t i = 0; i < after_.size(); ++i) {
      const auto b = static_cast<std::int32_t>(i);
      if (after_[i] != kNoCause || Partner(b) == kNoMatch) continue;
      if (Delta(b).type_before == DType::kUndefined && !c_.CostDelta(b).IsZero()) {
        regrouped_.push_back(b);
      }
    }
    if (regrouped_.empty()) return;
    const std::vector<int> nearest = NearestCauses(c_, {before_, after_}, regrouped_);
    for (std::size_t i = 0; i < nearest.size(); ++i) after_[Index(regrouped_[i])] = nearest[i];
    std::erase_if(regrouped_, [&](std::int32_t b) { return after_[Index(b)] == kNoCause; });
  }

  std::vector<Cause> Collect() {
    std::vector<Cause> by_root(sets_.size());
    const auto at = [&](int cause) -> Cause& { return by_root[Index(sets_.Root(cause))]; };
    for (const auto& [name, input] : input_causes_) at(input.cause).inputs.push_back(input.change);
    for (const std::int32_t b : own_) at(after_[Index(b)]).changed.push_back(b);
    for (const std::int32_t b : readers_) at(after_[Index(b)]).readers.push_back(b);
    for (const std::int32_t b : followers_) at(after_[Index(b)]).followers.push_back(b);
    for (const std::int32_t b : moved_) at(after_[Index(b)]).moved.push_back(b);
    for (const std::int32_t b : regrouped_) at(after_[Index(b)]).regrouped.push_back(b);
    for (std::size_t i = 0; i < after_.size(); ++i) {
      if (c_.matching.after_to_before[i] == kNoMatch) {
        at(after_[i]).added.push_back(static_cast<std::int32_t>(i));
      }
    }
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (before_[i] != kNoCause) at(before_[i]).removed.push_back(static_cast<std::int32_t>(i));
    }
    std::erase_if(by_root, [](const Cause& c) {
      return c.changed.empty() && c.readers.empty() && c.followers.empty() && c.added.empty() &&
             c.removed.empty() && c.moved.empty() && c.inputs.empty();
    });
    return by_root;
  }

  struct InputCause {
    int cause;
    std::pair<const Operand*, const Operand*> change;
  };

  const GraphComparison& c_;
  Sets sets_;
  std::vector<int> before_, after_;  // the cause of each node
  std::map<std::string, InputCause> input_causes_;
  std::vector<std::int32_t> own_, readers_, followers_, moved_, regrouped_;
};

}  // namespace

std::vector<Cause> FindCauses(const GraphComparison& comparison) {
  return Finder(comparison).Run();
}

}  // namespace dlcost
