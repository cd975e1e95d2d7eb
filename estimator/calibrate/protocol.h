#pragma once

#include <string_view>

namespace dlcost {

// How a source of measured latencies took them, as far as it changes what a time contains. Taken
// from the sources' own measuring programs.
struct Protocol {
  std::string_view source;
  bool back_to_back = false;  // kernels in a loop, the host far ahead: no framework call inside
  int weight_copies = 1;      // the loop takes up to so many copies of the weights in turns, as
                              // many as it needs to fill the last-level cache
  bool quantizes = false;     // 8-bit products include quantizing their 16-bit activations
  bool as_is = false;         // products get rows as they lie (RunOptions::odd_rows)
  bool bias = false;          // matrix products add a bias
  double quantize_calls = 0;  // seconds of the calls around quantizing, beside its two kernels
  double extra_launch = 0;    // seconds beyond a launch
  // Operands of 16 bits are all zero, for which hardly a transistor switches: a board's power,
  // which limits what it sustains on numbers, is no limit.
  bool zero_halves = false;
};

// The protocol of a source; a plain one (same operands every time) for an unknown source.
const Protocol& FindProtocol(std::string_view source);

}  // namespace dlcost
