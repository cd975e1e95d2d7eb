#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "estimator/profiles/input.h"
#include "estimator/profiles/measurement.h"

namespace dlcost {

// A format that can be read. `recognizes` looks at the first bytes of the file, never at its name.
struct Reader {
  std::string_view id;           // "nvprof", for --read-as and messages
  std::string_view description;  // "nvprof --csv: summary, GPU trace, API trace, metrics"
  bool (*recognizes)(std::string_view head);
  void (*read)(Input& input, Measurement& measurement);
  bool table = false;  // rows of totals may stand under it (summary_rows.h)
};

// All formats, the most specific first.
std::span<const Reader> Readers();

struct ReadOptions {
  std::string format;  // a Reader's id; "" finds it out by content
  std::function<void(std::uint64_t bytes)> progress;
  bool ranges_alone = false;  // a file with runs of the model and nothing finer is no error
};

// Reads a profiler's file. Throws Error, with file and line, for an unknown, empty, truncated or
// damaged file; one without a single kernel is an error too.
Measurement ReadMeasurement(Input input, const ReadOptions& options = {});
Measurement ReadMeasurementFile(const std::string& path, const ReadOptions& options = {});

}  // namespace dlcost
