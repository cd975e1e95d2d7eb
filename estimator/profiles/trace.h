#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dlcost {

// Names of a trace, each kept once: a trace has millions of events and some hundred names.
class NamePool {
 public:
  std::uint32_t Id(std::string_view name);
  const std::string& Name(std::uint32_t id) const { return names_[id]; }

 private:
  std::deque<std::string> names_;  // stays in place, so that the views below stay valid
  std::unordered_map<std::string_view, std::uint32_t> ids_;
};

// Levels of detail, outermost first. A trace may use any of them and any numbers between.
inline constexpr int kModelLevel = 10;    // a run of the model, an annotated range
inline constexpr int kLayerLevel = 20;    // a framework's operator
inline constexpr int kRuntimeLevel = 30;  // a call of the driver that launches something
inline constexpr int kKernelLevel = 40;   // a kernel

// Something that took time. 40 bytes, so that a trace of ten million events fits in memory.
struct Span {
  std::int64_t start = 0, end = 0;  // nanoseconds; end >= start
  std::int64_t correlation = 0;  // shared by the call that launches and what it launched; 0: none
  std::uint32_t name = 0;        // in a NamePool
  std::uint32_t track = 0;       // a thread, or a stream of a device
  std::int32_t parent = -1;      // index of the span it belongs to; -1: none
  std::int16_t level = 0;
  bool asynchronous = false;  // runs later than, and apart from, the call that launched it
};
// Grows without a copy: of a large trace there is no room for two.
using Spans = std::deque<Span>;

// Fills in every span's parent.
// - A span belongs to the shortest span that contains its interval, of the same level on the same
//   track (operators call operators) or else of the nearest level above; spans on its own track go
//   before spans on other tracks.
// - An asynchronous span belongs to the span that launched it (that has the same correlation), or,
//   when that is of the same level, to that span's parent: never to the one it happened to run
//   under.
// Returns how many spans had several equally good parents (parallel spans with equal intervals).
// A span may stick out of its parent's end by `slack` nanoseconds, where clocks are coarse.
std::int64_t FindParents(Spans& spans, std::int64_t slack = 0);

// The spans that launch something, by their correlation, once FindParents has run: for what was
// launched and is kept elsewhere, in less than a span.
class Launchers {
 public:
  explicit Launchers(const Spans& spans);
  // The span of a level above `level` that launched what has the correlation; -1: none.
  std::int32_t Of(std::int64_t correlation, int level) const;

 private:
  const Spans& spans_;
  std::vector<std::uint32_t> launches_;  // by correlation; the first of equals counts
};

// Whether a span is marked for the first time.
inline bool Once(std::vector<bool>& marked, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  const bool first = !marked[at];
  marked[at] = true;
  return first;
}

// The spans from the outermost ancestor to the parent of `index`.
std::vector<std::int64_t> Ancestors(const Spans& spans, std::int64_t index);

}  // namespace dlcost
