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

// How a kernel along rows goes about it: PyTorch's (aten/src/ATen/native/cuda, layer_norm_kernel.cu
// and SoftMax.cu). A normalization's four warps take a row: once for mean and deviation, once for
// the result. A softmax's block takes a long row, four elements a thread: for the largest, the sum
// and the result. `half`: where rows that are worked on at once fill so much of the last-level
// cache, half of what is read again comes from device memory. Set with 86 and 71 fit rows of six
// boards with 2 to 48 MB of cache.
struct RowPasses {
  double again = 0;    // reads after the first
  double tensors = 1;  // that a row is of
  double threads = 1;
  double half = 1;
};

bool IsLongSoftmax(const StreamProblem& p) {
  return p.kind == StreamKind::kSoftmax && p.row_elements > kOnePassElements;
}

RowPasses PassesOf(const StreamProblem& p) {
  constexpr double kWarp = 32, kLargestBlock = 1024;
  if (p.kind == StreamKind::kNormalization) return {.again = 1, .threads = 4 * kWarp, .half = 0.51};
  // layer_norm_grad_input_kernel and batch_norm_backward_kernel: once for the sums, once for the
  // result. How far it stays in the cache was not measured: as in the forward pass.
  if (p.kind == StreamKind::kNormGradient) {
    return {.again = 1, .tensors = 2, .threads = 4 * kWarp, .half = 0.51};
  }
  if (IsLongSoftmax(p)) {
    return {.again = 2, .threads = std::min(p.row_elements / 4, kLargestBlock), .half = 0.35};
  }
  return {};
}

// Bytes that the passes after the first one take from device memory.
double RereadBytes(const TimingDevice& d, const StreamProblem& p) {
  const RowPasses passes = PassesOf(p);
  const double row = passes.tensors * p.row_elements * p.element_bytes;
  const double all = p.rows * row;
  if (passes.again == 0 || all <= 0) return 0;
  if (d.cache <= 0) return passes.again * all;
  const double at_once = d.units * std::max(1.0, std::floor(d.threads / passes.threads));
  const double filled = std::min(all, at_once * row) / d.cache / passes.half;
  const double steep = filled * filled * filled;
  return passes.again * all * steep / (1 + steep);
}

// Share of stream.sustained that a kernel of this kind and shape reaches.
double KindShare(const TimingDevice& d, const StreamProblem& p) {
  return IsLongSoftmax(p) ? d[Constant::kSoftmax] : 1;
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
  t.reread_bytes = RereadBytes(device, problem);
  t.memory_seconds = (problem.bytes * t.miss + t.reread_bytes) / t.rate +
                     problem.bytes * (1 - t.miss) / cache_rate;
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
