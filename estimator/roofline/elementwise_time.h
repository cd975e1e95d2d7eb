#pragma once

#include "estimator/roofline/timing_device.h"

namespace dlcost {

enum class StreamKind {
  kElementwise,    // also reductions, copies, gather and scatter: bytes in, bytes out
  kSoftmax,        // along rows
  kNormalization,  // layer or RMS normalization along rows
  kNormGradient,   // its way back, along rows of the gradient and of the data
};

// A kernel whose time is the time of its traffic.
struct StreamProblem {
  StreamKind kind = StreamKind::kElementwise;
  double bytes = 0;                   // read and written
  double rows = 1, row_elements = 0;  // softmax and normalization: how many, of what length
  double element_bytes = 4;
  double arithmetic = 0;       // FLOP, for the rare kernel that is bound by it
  double arithmetic_peak = 0;  // FLOP/s; 0: arithmetic is free
  double specials = 0;         // exponentials, logarithms, square roots, trigonometric functions
  double special_rate = 0;     // of the device, per second; 0: free
  bool general = false;        // Kernel::general
  bool channels = false;       // each row is one channel of all images
  double places = 0;           // elements whose place it finds one by one
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

StreamTime ExpectedStream(const TimingDevice& device, const StreamProblem& problem,
                          const Conditions& conditions);

}  // namespace dlcost
