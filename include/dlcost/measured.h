#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dlcost/device.h"

namespace dlcost::api {

// Profilers' files alone, without a model (docs/measuring.md); formats are found out by content.
struct MeasuredRequest {
  std::vector<std::string> files;
  // Counters of the same launches, taken in another run: `files` are levels of one run, then.
  std::vector<std::string> counters;
  std::string format;            // "": found out
  std::optional<Device> device;  // its peaks and roofs
  std::string dtype;             // of FLOPs whose type the files do not tell; "": unknown
};

// Launches that have something in common. What no counter tells is absent, never zero; sums over
// launches of which only some are told are at least so much (`..._whole` is false).
struct MeasuredGroup {
  std::string name;
  std::int64_t rows = 0, launches = 0;
  std::optional<double> time_s, flops, bytes;
  bool time_whole = true, flops_whole = true, bytes_whole = true;
  std::optional<double> flops_per_s, bytes_per_s, intensity;  // of launches that tell both
  std::optional<double> compute_share, memory_share;          // of the device's peaks
  std::string limited_by;                                     // compute, memory or latency; ""
};

// What one file, or one run of several, tells.
struct Profile {
  std::string path, format;
  MeasuredGroup total;  // of all kernels
  // Kernels of equal launches, all of a name, and by what the names and the trace tell of them; the
  // most time first.
  std::vector<MeasuredGroup> kernels, by_name, by_family, by_op, by_module;
  std::vector<std::string> notes;
};

class Measured {
 public:
  std::vector<Profile> profiles() const;
  // `top`: rows of each table, 0: all.
  std::string Text(std::size_t top = 20) const;
  std::string Markdown(std::size_t top = 20) const;
  std::string Json() const;  // schema dlcost.measured/1
  std::string Csv() const;
  std::string Html(const std::string& title = "") const;

  struct State;
  explicit Measured(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

// Throws Error for files that cannot be read.
Measured ReadMeasured(const MeasuredRequest& request);

}  // namespace dlcost::api
