#include "estimator/profiles/trace.h"

#include <gtest/gtest.h>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

struct TracedKernel {
  Span span;
  std::int64_t parent;  // known by construction
};

Span At(std::int64_t start, std::int64_t end, int level, std::uint32_t track,
        std::int64_t correlation = 0, bool asynchronous = false) {
  Span span;
  span.start = start;
  span.end = end;
  span.level = static_cast<std::int16_t>(level);
  span.track = track;
  span.correlation = correlation;
  span.asynchronous = asynchronous;
  return span;
}

// A model with `layers` layers that run two at a time on two threads, each launching kernels on two
// streams. Kernels run long after their launch, under other layers, and overlap each other.
std::vector<TracedKernel> SyntheticTrace(int layers, int kernels_per_layer) {
  std::vector<TracedKernel> trace;
  const std::int64_t length = 1000 * (layers / 2 + 1);
  trace.push_back({At(0, length, kModelLevel, 0), -1});
  std::int64_t correlation = 0;
  for (int layer = 0; layer < layers; ++layer) {
    const std::int64_t start = 1000 * (layer / 2) + 10;
    const auto thread = static_cast<std::uint32_t>(layer % 2);
    const auto layer_index = static_cast<std::int64_t>(trace.size());
    trace.push_back({At(start, start + 900, kLayerLevel, thread), 0});
    for (int k = 0; k < kernels_per_layer; ++k) {
      ++correlation;
      const std::int64_t launch = start + 20 + 40 * k;
      trace.push_back({At(launch, launch + 5, kRuntimeLevel, thread, correlation), layer_index});
      const auto launch_index = static_cast<std::int64_t>(trace.size()) - 1;
      // 700 later: usually while the next pair of layers is open on the host.
      trace.push_back(
          {At(launch + 700, launch + 1100, kKernelLevel, 10 + thread, correlation, true),
           launch_index});
    }
  }
  return trace;
}

TEST(FindParents, ThreeLevelsWithParallelLayersAndAsynchronousKernels) {
  // Handed over in another order than that of time: every third event first.
  const std::vector<TracedKernel> trace = SyntheticTrace(24, 7);
  std::vector<std::size_t> order;
  for (std::size_t phase = 0; phase < 3; ++phase) {
    for (std::size_t i = phase; i < trace.size(); i += 3) order.push_back(i);
  }
  std::vector<std::int64_t> place(trace.size());
  Spans spans;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = static_cast<std::int64_t>(i);
    spans.push_back(trace[order[i]].span);
  }
  EXPECT_EQ(FindParents(spans), 0);
  int kernels = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const std::int64_t expected =
        trace[i].parent < 0 ? -1 : place[static_cast<std::size_t>(trace[i].parent)];
    EXPECT_EQ(spans[static_cast<std::size_t>(place[i])].parent, expected) << "event " << i;
    kernels += trace[i].span.level == kKernelLevel;
  }
  EXPECT_EQ(kernels, 24 * 7);
}

TEST(FindParents, OperatorsNestOnTheirThread) {
  Spans spans = {At(0, 100, kLayerLevel, 0), At(10, 90, kLayerLevel, 0),
                 At(20, 30, kRuntimeLevel, 0, 5), At(200, 300, kKernelLevel, 9, 5, true)};
  FindParents(spans);
  EXPECT_EQ(spans[1].parent, 0);
  EXPECT_EQ(spans[2].parent, 1);
  EXPECT_EQ(spans[3].parent, 2);
  EXPECT_EQ(Ancestors(spans, 3), (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(FindParents, SynchronousKernelsBelongToWhatTheyRunUnder) {
  Spans spans = {At(0, 100, kLayerLevel, 0), At(10, 20, kKernelLevel, 0),
                 At(90, 110, kKernelLevel, 0)};
  FindParents(spans);
  EXPECT_EQ(spans[1].parent, 0);
  EXPECT_EQ(spans[2].parent, -1);  // sticks out: no layer contains it
}

TEST(FindParents, EqualParallelSpansAreReportedAsAmbiguous) {
  Spans spans = {At(0, 100, kLayerLevel, 0), At(0, 100, kLayerLevel, 1),
                 At(10, 20, kKernelLevel, 2)};
  EXPECT_EQ(FindParents(spans), 1);
}

TEST(FindParents, HostileOverlapsEnd) {
  Spans spans;
  for (int i = 0; i < 10000; ++i) spans.push_back(At(i, 1000000 + i, kLayerLevel, 0));
  EXPECT_THROW(FindParents(spans), Error);
}

}  // namespace
}  // namespace dlcost
