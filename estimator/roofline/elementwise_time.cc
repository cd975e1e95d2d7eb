#include "estimator/roofline/elementwise_time.h"

#include <algorithm>
#include <cmath>

namespace dlcost {
namespace {

// Of launch.graph, which was fitted to products, what a framework's elementwise kernel takes, way
// to the first byte included: 500 of 32 to 40 million bytes on an H200 in a graph of them (PyTorch
// 2.11) start in 1.9 us, and those of networks on an H100 last 1.3 to 1.6 us with 0.3 between.
constexpr double kGeneralStart = 0.77;
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

// A normalization's block takes its row in steps of four elements a thread, each of which waits for
// memory in both passes; before them it is placed and loads its first elements, after the first
// pass its warps exchange their sums. In clocks, and how many blocks a unit works on at once. Set
// with 80 normalizations of rows of 32 to 15,000 elements on an H200 under PyTorch 2.11: 27,733
// rows of 32 floats take 42 us, 27,091 of 1,120 98.
constexpr double kRowStart = 2400, kRowStep = 1030, kRowBlocks = 9;

// Channels first, a batch normalization has one block for each channel, however many images and
// however few channels: clocks of its unit for an element of the channel where it has the unit
// alone, and where it shares it. Set with cuDNN 9's kernels on an H200, bn_fw_tr and bn_bw_1C11 of
// 16 to 2,048 channels: one of 64 channels of 112 x 112 takes 64 images 0.46 and 1.17 ms, as long
// as one of 16; one of 256 of 56 x 56 0.21 and 0.37.
constexpr double kForwardAlone = 1.1, kForwardShared = 1, kBackAlone = 2.7, kBackShared = 1.7;
// PyTorch's own, which bfloat16 takes: statistics in such blocks, and the result in a pass of its
// own, with blocks for planes. An H100 (PyTorch 2.11) takes 1.3 ms for the statistics of 64
// channels of 128 images of 112 x 112, and 0.23 for their results.
constexpr double kOwnForwardAlone = 1.65, kOwnForwardShared = 0.56;
constexpr double kOwnBackAlone = 3.8, kOwnBackShared = 1.8;

// A framework's reduction has a block for 16 rows or more, which works out the places of its loads,
// takes the row four elements a thread, adds up across threads and rearranges. In clocks: of the
// one block that any number takes, and of a row where a unit has many. Set with 94 means over rows
// of 49 to 3,136 elements in networks on an H100 and an H200 (PyTorch 2.11, reduce_kernel): 11 %.
constexpr double kReducedBlock = 7000, kReducedRow = 58;

struct RowTime {
  double block = 0;  // of one, the least that any number of rows takes
  double all = 0;
};

RowTime TimeOfRows(const TimingDevice& d, const StreamProblem& p) {
  if (p.kind == StreamKind::kReduction && p.general) {
    return {kReducedBlock / d.clock, kReducedRow * p.rows / (d.units * d.clock)};
  }
  const bool passes = p.kind == StreamKind::kNormalization || p.kind == StreamKind::kNormGradient;
  if (!passes || !p.general) return {};
  if (p.channels) {
    const bool back = p.kind == StreamKind::kNormGradient;
    const double element = p.row_elements / d.clock;
    if (p.native) {
      const double results = back ? 0 : p.rows * p.row_elements / (kOwnPlanes * d.units * d.clock);
      return {element * (back ? kOwnBackAlone : kOwnForwardAlone) + results,
              element * (back ? kOwnBackShared : kOwnForwardShared) * p.rows / d.units + results};
    }
    return {element * (back ? kBackAlone : kForwardAlone),
            element * (back ? kBackShared : kForwardShared) * p.rows / d.units};
  }
  const double steps = std::ceil(p.row_elements / (4 * PassesOf(p).threads));
  const double block = (kRowStart + kRowStep * steps) / d.clock;
  return {block, block * p.rows / (d.units * kRowBlocks)};
}

// The same where each element lies in a sector of its own, which half of the loads of a clock
// bring: transposed copies and additions of what is transposed take an H100 (PyTorch 2.11)
// 125 to 138 thousand million elements per second, of any type and size from 2 million on.
constexpr double kScattered = 0.54;

// Elements of a softmax per clock of a unit: rows that a warp holds, padded to a power of two, and
// rows that a block goes over three times. 290 to 330 thousand million long ones per second on an
// H200 (PyTorch 2.11) in 16 bits, where memory could pass 1,000; short ones twice as many.
constexpr double kHeldSoftmax = 2.4, kLongSoftmax = 1.15;

double SoftmaxSeconds(const TimingDevice& d, const StreamProblem& p) {
  if (p.kind != StreamKind::kSoftmax || !p.general || p.row_elements < 1) return 0;
  const bool held = p.row_elements <= kOnePassElements * (p.element_bytes < 4 ? 2 : 1);
  const double row = held ? std::exp2(std::ceil(std::log2(p.row_elements))) / kHeldSoftmax
                          : p.row_elements / kLongSoftmax;
  return p.rows * row / (d.units * d.clock);
}

// Share of stream.sustained that a kernel of this kind and shape reaches.
double KindShare(const TimingDevice& d, const StreamProblem& p) {
  return IsLongSoftmax(p) ? d[Constant::kSoftmax] : 1;
}

}  // namespace

StreamTime ExpectedStream(const TimingDevice& device, const StreamProblem& problem,
                          const Conditions& conditions) {
  StreamTime t;
  t.launch_seconds = device[Constant::kLaunchGraph] * (problem.general ? kGeneralStart : 1);
  const double share = KindShare(device, problem);
  t.miss = MissShare(device, conditions, problem.bytes);
  t.rate = device.memory_rate * device[Constant::kStreamSustained] * share;
  const double cache_rate = CacheRate(device) * share;
  t.reread_bytes = RereadBytes(device, problem);
  t.memory_seconds = (problem.bytes * t.miss + t.reread_bytes) / t.rate +
                     problem.bytes * (1 - t.miss) / cache_rate;
  if (!problem.general)
    t.memory_seconds += std::min(t.memory_seconds, device[Constant::kMemoryLatency]);

  // The unit that has most: its share, and no less than one block.
  const double block = 2 * kBlockElements * problem.element_bytes;
  const double most = std::max(problem.bytes / device.units, std::min(problem.bytes, block));
  t.fill_seconds = most / (kLoadBytes * device.clock);
  if (problem.arithmetic_peak > 0)
    t.arithmetic_seconds = problem.arithmetic / problem.arithmetic_peak;
  if (problem.special_rate > 0) t.arithmetic_seconds += problem.specials / problem.special_rate;
  t.place_seconds =
      ((problem.places - problem.scattered) / kPlaces + problem.scattered / kScattered) /
          (device.units * device.clock) +
      SoftmaxSeconds(device, problem);
  const RowTime rows = TimeOfRows(device, problem);
  t.row_seconds = rows.all;
  t.block_seconds = rows.block;
  t.pass_seconds = problem.channels ? std::max(rows.all, t.memory_seconds)
                                    : std::hypot(rows.all, t.memory_seconds);
  t.seconds = t.launch_seconds + std::max({t.pass_seconds, t.block_seconds, t.fill_seconds,
                                           t.arithmetic_seconds, t.place_seconds});
  return t;
}

}  // namespace dlcost
