#include "estimator/roofline/elementwise_time.h"

#include <algorithm>
#include <cmath>

namespace dlcost {
namespace {

// Rows to this length stay in the registers of one block between the passes of a softmax.
constexpr double kOnePassElements = 1024;
// Elements that a block of an elementwise kernel handles (256 threads, vectors of four).
constexpr double kBlockElements = 1024;
// What one unit loads per clock: 32 lanes of four bytes (NVIDIA's load and store units; a CU's
// vector memory path is as wide).
constexpr double kLoadBytes = 128;

// Share of stream.sustained that a kernel of this kind and shape reaches.
double KindShare(const TimingDevice& d, const StreamProblem& p) {
  if (p.kind == StreamKind::kElementwise) return 1;
  if (p.kind == StreamKind::kNormalization) return d[Constant::kNormalization];
  return p.row_elements <= kOnePassElements ? 1 : d[Constant::kSoftmax];
}

}  // namespace

StreamTime ExpectedStream(const TimingDevice& device, const StreamProblem& problem,
                          const Conditions& conditions) {
  StreamTime t;
  t.launch_seconds = device[Constant::kLaunchGraph];
  const double share = KindShare(device, problem);
  t.miss = MissShare(device, conditions, problem.bytes);
  t.rate = device.memory_rate * device[Constant::kStreamSustained] * share;
  const double cache_rate = CacheRate(device) * share;
  t.memory_seconds = problem.bytes * t.miss / t.rate + problem.bytes * (1 - t.miss) / cache_rate;
  t.memory_seconds += std::min(t.memory_seconds, device[Constant::kMemoryLatency]);

  // The unit that has most: its share, and no less than one block.
  const double block = 2 * kBlockElements * problem.element_bytes;
  const double most = std::max(problem.bytes / device.units, std::min(problem.bytes, block));
  t.fill_seconds = most / (kLoadBytes * device.clock);
  if (problem.arithmetic_peak > 0)
    t.arithmetic_seconds = problem.arithmetic / problem.arithmetic_peak;
  if (problem.special_rate > 0) t.arithmetic_seconds += problem.specials / problem.special_rate;
  t.seconds = t.launch_seconds + std::max({t.memory_seconds, t.fill_seconds, t.arithmetic_seconds});
  return t;
}

}  // namespace dlcost
