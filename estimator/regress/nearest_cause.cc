#include "estimator/regress/nearest_cause.h"

#include <string_view>
#include <unordered_map>

namespace dlcost {
namespace {

using KernelCauses = std::unordered_map<std::string_view, int>;

// What somebody changed comes before what only follows from that.
void AddKernels(const GraphView& view, const std::vector<int>& causes,
                const std::vector<NodeDelta>* deltas, KernelCauses& kernels) {
  for (const bool own : {true, false}) {
    for (std::size_t i = 0; i < causes.size(); ++i) {
      if (causes[i] == kNoCause || (deltas != nullptr && (*deltas)[i].Own() != own)) continue;
      kernels.emplace(view.rows[i]->kernel, causes[i]);
    }
  }
}

// Spreads causes over both graphs at once, breadth first. Paired nodes are one.
class Spreader {
 public:
  Spreader(const GraphComparison& c, const CauseOfNodes& causes)
      : c_(c), after_(causes.after), before_(causes.before) {
    for (std::size_t i = 0; i < after_.size(); ++i) {
      if (after_[i] != kNoCause) queue_.push_back({static_cast<std::int32_t>(i), true});
    }
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (before_[i] != kNoCause) queue_.push_back({static_cast<std::int32_t>(i), false});
    }
  }

  std::vector<int> Run() {
    for (std::size_t next = 0; next < queue_.size(); ++next) {
      const Item item = queue_[next];
      if (item.is_after) {
        const int cause = after_[Index(item.node)];
        VisitAround(c_.after, item.node, true, cause);
        const std::int32_t partner = c_.matching.after_to_before[Index(item.node)];
        if (partner != kNoMatch) VisitAround(c_.before, partner, false, cause);
      } else {
        VisitAround(c_.before, item.node, false, before_[Index(item.node)]);
      }
    }
    return std::move(after_);
  }

 private:
  struct Item {
    std::int32_t node;
    bool is_after;  // else a node of the earlier graph without a partner
  };

  void VisitAround(const GraphView& view, std::int32_t node, bool is_after, int cause) {
    for (const std::int32_t p : view.nodes[Index(node)].producers) {
      if (p != kNoMatch) Visit(p, is_after, cause);
    }
    for (const std::int32_t use : view.Consumers(Index(node))) Visit(use, is_after, cause);
  }

  void Visit(std::int32_t node, bool is_after, int cause) {
    if (!is_after) {
      const std::int32_t partner = c_.matching.before_to_after[Index(node)];
      if (partner != kNoMatch) {
        node = partner;
        is_after = true;
      }
    }
    int& known = is_after ? after_[Index(node)] : before_[Index(node)];
    if (known != kNoCause) return;
    known = cause;
    queue_.push_back({node, is_after});
  }

  const GraphComparison& c_;
  std::vector<int> after_, before_;
  std::vector<Item> queue_;
};

}  // namespace

std::vector<int> NearestCauses(const GraphComparison& comparison, const CauseOfNodes& causes,
                               const std::vector<std::int32_t>& nodes) {
  KernelCauses before, after;
  AddKernels(comparison.after, causes.after, &comparison.deltas, after);
  AddKernels(comparison.before, causes.before, nullptr, before);
  for (std::size_t b = 0; b < causes.after.size(); ++b) {
    const std::int32_t a = comparison.matching.after_to_before[b];
    if (a != kNoMatch && causes.after[b] != kNoCause) {
      before.emplace(comparison.before.Row(a).kernel, causes.after[b]);
    }
  }
  std::vector<int> nearest;
  bool all = true;
  for (const std::int32_t b : nodes) {
    auto found = after.find(comparison.after.Row(b).kernel);
    bool known = found != after.end();
    if (!known) {
      const std::int32_t a = comparison.matching.after_to_before[Index(b)];
      found = before.find(comparison.before.Row(a).kernel);
      known = found != before.end();
    }
    nearest.push_back(known ? found->second : kNoCause);
    all &= known;
  }
  if (all) return nearest;
  const std::vector<int> spread = Spreader(comparison, causes).Run();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nearest[i] == kNoCause) nearest[i] = spread[Index(nodes[i])];
  }
  return nearest;
}

}  // namespace dlcost
