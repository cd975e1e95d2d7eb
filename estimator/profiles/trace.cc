#include "estimator/profiles/trace.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

// More spans open at one instant than any program has threads and calls; keeps hostile traces from
// taking quadratic time.
constexpr std::size_t kMaxOpen = 4096;

class Nesting {
 public:
  Nesting(std::vector<Span>& spans, std::int64_t slack) : spans_(spans), slack_(slack) {}

  std::int64_t Run() {
    for (const std::size_t i : InOrder()) {
      if (spans_[i].asynchronous && spans_[i].correlation != 0) continue;
      spans_[i].parent = Enclosing(spans_[i]);
      if (!spans_[i].asynchronous) Open(i);
    }
    std::sort(launches_.begin(), launches_.end(), [this](std::size_t a, std::size_t b) {
      const Span &x = spans_[a], &y = spans_[b];
      if (x.correlation != y.correlation) return x.correlation < y.correlation;
      return Before(a, b);
    });
    for (Span& span : spans_) {
      if (span.asynchronous && span.correlation != 0) span.parent = Launcher(span);
    }
    return ambiguous_;
  }

 private:
  // By start; of equal starts the longer first, then the outer level: containers before contents.
  std::vector<std::size_t> InOrder() {
    std::vector<std::size_t> order(spans_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [this](std::size_t a, std::size_t b) { return Before(a, b); });
    return order;
  }

  bool Before(std::size_t a, std::size_t b) const {
    const Span &x = spans_[a], &y = spans_[b];
    return std::tuple(x.start, -x.end, x.level, a) < std::tuple(y.start, -y.end, y.level, b);
  }

  void Open(std::size_t index) {
    const Span& span = spans_[index];
    if (span.correlation != 0) launches_.push_back(index);
    auto& open = open_[span.level];
    std::erase_if(open, [&](std::size_t i) { return spans_[i].end < span.start; });
    open.push_back(index);
    if (open.size() > kMaxOpen) {
      throw Error("more than {} spans are open at the same time; the trace is damaged", kMaxOpen);
    }
  }

  bool Holds(const Span& outer, const Span& inner) const {
    if (outer.start > inner.start) return false;
    return inner.end <= outer.end || (inner.start < outer.end && inner.end <= outer.end + slack_);
  }

  std::int64_t Enclosing(const Span& span) {
    for (auto level = open_.rbegin(); level != open_.rend(); ++level) {
      if (level->first > span.level) continue;
      std::int64_t best = -1;
      bool best_on_track = false, tie = false;
      for (const std::size_t i : level->second) {
        const Span& outer = spans_[i];
        const bool on_track = outer.track == span.track;
        if (!Holds(outer, span) || (level->first == span.level && !on_track)) continue;
        const std::int64_t length = outer.end - outer.start;
        const std::int64_t best_length =
            best < 0 ? 0 : spans_[At(best)].end - spans_[At(best)].start;
        if (best < 0 || (on_track && !best_on_track)) {
          tie = false;
        } else if (on_track != best_on_track || length > best_length) {
          continue;
        } else {
          // Of equal intervals on one track the later is the inner one; on two tracks nobody knows.
          tie = length == best_length && outer.track != spans_[At(best)].track;
        }
        best = static_cast<std::int64_t>(i);
        best_on_track = on_track;
      }
      ambiguous_ += tie;
      if (best >= 0) return best;
    }
    return -1;
  }

  std::int64_t Launcher(const Span& span) const {
    const auto found = std::lower_bound(
        launches_.begin(), launches_.end(), span.correlation,
        [this](std::size_t at, std::int64_t id) { return spans_[at].correlation < id; });
    if (found == launches_.end() || spans_[*found].correlation != span.correlation) return -1;
    auto launcher = static_cast<std::int64_t>(*found);
    while (launcher >= 0 && spans_[At(launcher)].level >= span.level)
      launcher = spans_[At(launcher)].parent;
    return launcher;
  }

  static std::size_t At(std::int64_t index) { return static_cast<std::size_t>(index); }

  std::vector<Span>& spans_;
  const std::int64_t slack_;
  std::map<int, std::vector<std::size_t>> open_;  // by level; spans that have not ended yet
  std::vector<std::size_t>
      launches_;  // spans with a correlation, by it; the first of equals counts
  std::int64_t ambiguous_ = 0;
};

}  // namespace

std::uint32_t NamePool::Id(std::string_view name) {
  const auto found = ids_.find(name);
  if (found != ids_.end()) return found->second;
  const auto id = static_cast<std::uint32_t>(names_.size());
  names_.emplace_back(name);
  ids_.emplace(names_.back(), id);
  return id;
}

std::int64_t FindParents(std::vector<Span>& spans, std::int64_t slack) {
  return Nesting(spans, slack).Run();
}

std::vector<std::int64_t> Ancestors(const std::vector<Span>& spans, std::int64_t index) {
  std::vector<std::int64_t> chain;
  for (std::int64_t i = spans[static_cast<std::size_t>(index)].parent; i >= 0;
       i = spans[static_cast<std::size_t>(i)].parent) {
    chain.push_back(i);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

}  // namespace dlcost
