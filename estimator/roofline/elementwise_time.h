#pragma once

#include "estimator/roofline/timing_device.h"

namespace dlcost {

enum class StreamKind {
  kElementwise,    // also pooling, copies, gather and scatter: bytes in, bytes out
  kReduction,      // one number of each row
  kSoftmax,        // along rows
  kNormalization,  // layer or RMS normalization along rows
  kNormGradient,   // its way back, along rows of the gradient and of the data
};

// A kernel whose time is the time of its traffic.
struct StreamProblem {
  StreamKind kind = StreamKind::kElementwise;
  double bytes = 0;                   // read and written
  double rows = 1, row_elements = 0;  // of all but elementwise kernels: how many, of what length
  double element_bytes = 4;
  double arithmetic = 0;       // FLOP, for the rare kernel that is bound by it
  double arithmetic_peak = 0;  // FLOP/s; 0: arithmetic is free
  double specials = 0;         // exponentials, logarithms, square roots, trigonometric functions
  double special_rate = 0;     // of the device, per second; 0: free
  bool general = false;        // Kernel::general
  bool channels = false;       // each row is one channel of all images
  bool native = false;         // and the kernel is the framework's own, not a library's
  double places = 0;           // elements whose place it finds one by one
  double scattered = 0;        // of these, those that lie in sectors of their own
};

struct StreamTime {
  double miss = 0;          // share of the bytes that device memory delivers
  double reread_bytes = 0;  // of rows that are read again and did not stay in the cache
  double rate = 0;          // byte/s from device memory
  double memory_seconds = 0;
  double fill_seconds = 0;  // limit of the units that have work
  double arithmetic_seconds = 0;
  double place_seconds = 0;   // of instructions that general kernels alone have
  double row_seconds = 0;     // of all blocks along rows, before and between their passes
  double pass_seconds = 0;    // of these and memory
  double block_seconds = 0;   // of one
  double launch_seconds = 0;  // includes the latency of the first access
  double seconds = 0;
};

// Elements per clock of a unit whose place in operands of any strides a kernel finds by divisions,
// or which it converts: 90 of the 128 instructions of a clock. Of any type: additions of a bias of
// a convolution, copies of transposed data and casts alike run at 290 to 350 thousand million
// elements per second on an H200 (PyTorch 2.11), in 16 and 32 bits.
inline constexpr double kPlaces = 1.25;
// Elements per clock of a unit that PyTorch's own kernels normalize channels first, a block for
// each plane (batch_norm_transform_input_kernel of planes of 14 x 14 and more: 1.4 to 2.2 on an
// H100).
inline constexpr double kOwnPlanes = 1.7;

StreamTime ExpectedStream(const TimingDevice& device, const StreamProblem& problem,
                          const Conditions& conditions);

}  // namespace dlcost
