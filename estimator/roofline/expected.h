#pragma once

#include <string>
#include <vector>

#include "estimator/hardware/timing_basis.h"
#include "estimator/roofline/time_range.h"

namespace dlcost {

// How the terms below a term make it up.
enum class Combine {
  kNone,     // nothing below: a time of its own, or a fact that explains one
  kSum,      // one after the other
  kLongest,  // side by side: the longest counts
  kNorm,     // they overlap: the norm of their times (Overlap)
  kTimes,    // the one below, so many times
};
std::string_view Name(Combine combine);  // "", "sum", "longest", "norm", "times"

// One line of the tree behind an expected time. Terms follow in depth-first order: those of the
// next deeper level, up to the next one of the same level, are below a term.
struct TimeTerm {
  int level = 0;
  std::string what;    // "waves", "device memory"
  double value = 0;    // in `unit`
  std::string unit;    // "s" for times: they combine. Others are facts: "FLOP", "B", "%", "", ...
  std::string text;    // a fact that is no number: "128 x 64"
  std::string reason;  // where it comes from; may be empty
  Combine combine = Combine::kNone;
  double factor = 0;  // exponent of a norm; how many times

  bool IsTime() const { return unit == "s"; }
};

// What one part of a kernel takes when it runs once. Seconds.
struct PartTime {
  double launch = 0;                        // of all its launches
  double units = 0, memory = 0, cache = 0;  // side by side
  double hot = 0;                           // part of `units`: what a clock within the power adds
  double steps = 0;                         // waiting of dependent steps for each other
  double apart = 0;                         // before and after: transforms, conversions
  double parts = 0;                         // adding up the parts of a split sum
  double power = 0;                         // what the board's power adds
  // Where a framework calls it, the host's: what this kind of call takes beyond another's, and what
  // it takes altogether where the library is asked for a kernel.
  double setup = 0, asked = 0;
  double calls = 1;   // of the framework, one after the other
  double before = 0;  // share of a call that passes before its kernel starts
  double seconds = 0;
  double range = 0;             // logarithm of the width of the range
  std::vector<TimeTerm> terms;  // where asked for: below a term of their own
  std::vector<std::string> advice;
};

// What a good kernel takes, and where it goes: all runs of the kernel.
struct Expected {
  TimeRange time;  // seconds
  TimingBasis basis = TimingBasis::kAssumed;
  double units = 0, memory = 0;  // arithmetic and traffic of all launches, before overlap
  double launch = 0;
  // Where a framework calls the kernel: the host's time around the run; before launches; and beside
  // the device, for the calls; the device's own time.
  double host = 0, prepared = 0, calls = 0, device = 0;
  double between = 0;  // the host's too: before it comes to the next kernel, beside the device
  double busy = 0;     // of `device`: without launches, which leave it idle
  // The largest term: "compute", "device memory", "cache", "dependent steps", "launch", "power",
  // "transforms", "parts of sums"; "bound" where the model falls below what is possible.
  std::string limiter;
  // Only when asked to explain; the first is the whole time.
  std::vector<TimeTerm> terms;
  std::vector<std::string> advice;  // what would make it faster, the largest effect first
};

// What the terms below terms[i] combine to, in seconds; terms[i] itself where there are none.
double Combined(const std::vector<TimeTerm>& terms, std::size_t i);

}  // namespace dlcost
