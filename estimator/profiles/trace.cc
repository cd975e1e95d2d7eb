#include "estimator/profiles/trace.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

// More spans open at one instant than any program has threads and calls; keeps hostile traces from
// taking quadratic time.
constexpr std::size_t kMaxOpen = 4096;

std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }

// By start; of equal starts the longer first, then the outer level: containers before contents.
bool Before(const Spans& spans, std::uint32_t a, std::uint32_t b) {
  const Span &x = spans[a], &y = spans[b];
  return std::tuple(x.start, -x.end, x.level, a) < std::tuple(y.start, -y.end, y.level, b);
}

class Nesting {
 public:
  Nesting(Spans& spans, std::int64_t slack) : spans_(spans), slack_(slack) {}

  std::int64_t Run() {
    if (spans_.size() > std::numeric_limits<std::int32_t>::max()) {
      throw Error("{} events are more than a trace can have here; profile a shorter run",
                  spans_.size());
    }
    bool launched = false;
    for (const std::uint32_t i : InOrder()) {
      Span& span = spans_[i];
      launched |= span.asynchronous && span.correlation != 0;
      if (span.asynchronous && span.correlation != 0) continue;
      span.parent = Enclosing(span);
      if (!span.asynchronous) Open(i);
    }
    if (!launched) return ambiguous_;
    const Launchers launchers(spans_);
    for (Span& span : spans_) {
      if (span.asynchronous && span.correlation != 0)
        span.parent = launchers.Of(span.correlation, span.level);
    }
    return ambiguous_;
  }

 private:
  std::vector<std::uint32_t> InOrder() {
    std::vector<std::uint32_t> order(spans_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(),
              [this](std::uint32_t a, std::uint32_t b) { return Before(spans_, a, b); });
    return order;
  }

  void Open(std::uint32_t index) {
    const Span& span = spans_[index];
    auto& open = open_[span.level];
    std::erase_if(open, [&](std::uint32_t i) { return spans_[i].end < span.start; });
    open.push_back(index);
    if (open.size() > kMaxOpen) {
      throw Error("more than {} spans are open at the same time; the trace is damaged", kMaxOpen);
    }
  }

  bool Holds(const Span& outer, const Span& inner) const {
    if (outer.start > inner.start) return false;
    return inner.end <= outer.end || (inner.start < outer.end && inner.end <= outer.end + slack_);
  }

  std::int32_t Enclosing(const Span& span) {
    for (auto level = open_.rbegin(); level != open_.rend(); ++level) {
      if (level->first > span.level) continue;
      std::int32_t best = -1;
      bool best_on_track = false, tie = false;
      for (const std::uint32_t i : level->second) {
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
        best = static_cast<std::int32_t>(i);
        best_on_track = on_track;
      }
      ambiguous_ += tie;
      if (best >= 0) return best;
    }
    return -1;
  }

  Spans& spans_;
  const std::int64_t slack_;
  std::map<int, std::vector<std::uint32_t>> open_;  // by level; spans that have not ended yet
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

std::int64_t FindParents(Spans& spans, std::int64_t slack) { return Nesting(spans, slack).Run(); }

Launchers::Launchers(const Spans& spans) : spans_(spans) {
  std::size_t count = 0;
  const auto launches = [](const Span& span) {
    return !span.asynchronous && span.correlation != 0;
  };
  for (const Span& span : spans_) count += launches(span);
  launches_.reserve(count);
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    if (launches(spans_[i])) launches_.push_back(static_cast<std::uint32_t>(i));
  }
  std::sort(launches_.begin(), launches_.end(), [this](std::uint32_t a, std::uint32_t b) {
    const Span &x = spans_[a], &y = spans_[b];
    if (x.correlation != y.correlation) return x.correlation < y.correlation;
    return Before(spans_, a, b);
  });
}

std::int32_t Launchers::Of(std::int64_t correlation, int level) const {
  const auto found = std::lower_bound(
      launches_.begin(), launches_.end(), correlation,
      [this](std::uint32_t at, std::int64_t id) { return spans_[at].correlation < id; });
  if (found == launches_.end() || spans_[*found].correlation != correlation) return -1;
  auto launcher = static_cast<std::int32_t>(*found);
  while (launcher >= 0 && spans_[At(launcher)].level >= level)
    launcher = spans_[At(launcher)].parent;
  return launcher;
}

std::vector<std::int64_t> Ancestors(const Spans& spans, std::int64_t index) {
  std::vector<std::int64_t> chain;
  for (std::int64_t i = spans[static_cast<std::size_t>(index)].parent; i >= 0;
       i = spans[static_cast<std::size_t>(i)].parent) {
    chain.push_back(i);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

}  // namespace dlcost
