#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "estimator/core/units.h"
#include "estimator/profiles/counter.h"

namespace dlcost {

// What a measured row is.
enum class MeasuredKind {
  kKernel,  // work on the device: a GPU kernel, a primitive of a CPU library, a function
  kCopy,    // a copy, fill or migration of memory
  kOp,      // a framework's operator, on the host, with everything that runs inside it
  kApi,     // a call of the driver or the runtime
};

// One row that a profiler wrote: a launch, or several launches that it folded into one. Times and
// counters are per launch (the mean of them when there are several).
struct MeasuredKernel {
  std::string name;    // as written, without nvprof's "[1073]" behind it
  std::string device;  // "" when the file does not say
  MeasuredKind kind = MeasuredKind::kKernel;
  std::int64_t launches = 1;
  std::optional<Seconds> start;  // since an origin that the profiler chose
  // The same in nanoseconds where the file tells them: seconds since 1970 in a double are a quarter
  // of a microsecond apart.
  std::optional<std::int64_t> start_ns;
  std::optional<Seconds> duration;  // of one launch
  std::string op;                   // the framework's operator or annotated range that launched it
  std::string op_type;              // "Conv", "aten::conv2d": its type, where the file says
  std::int64_t call = -1;           // equal for kernels of the same call of `op`; -1: not told
  std::optional<Seconds> host;      // what that call took the host; on its first kernel alone
  std::vector<std::string> scope;   // ranges around `op`, outermost first
  std::string module;               // "ResNet_0/Conv2d_3": the model's module, where the file says
  std::string stream;
  std::optional<std::int64_t> process, correlation;
  std::optional<std::array<std::int64_t, 3>> grid, block;
  std::vector<Counter> counters;
  std::vector<float> samples;  // durations in seconds of the launches that a reader folded into one
  std::int64_t line = 0;       // of the file, or number of the event in it

  const Counter* Find(Metric metric) const;
  // From its start to its end, in nanoseconds since the profiler's origin.
  void SetTimes(std::int64_t from, std::int64_t to);
  // Nanoseconds since the profiler's origin, of the launch that the row is.
  std::optional<std::int64_t> StartNs() const;
  // FLOPs of the vector pipes over all types; nothing when no such counter was taken.
  std::optional<double> VectorFlops() const;
  // DRAM bytes read and written; nothing unless both (or their sum) were counted.
  std::optional<double> DramBytes() const;
};

// How deep a profiler looked, the coarsest first. Each level slows what lies above it.
enum class TraceLevel {
  kModel,    // runs of the model, annotated ranges
  kLayer,    // a framework's operators
  kLibrary,  // primitives of a library: oneDNN's
  kKernel,
};
std::string_view Name(TraceLevel level);  // "model", "layer", ...

// A range that the host marked around rows: a run of the model, what is done before and after it.
struct MeasuredRange {
  std::string name;
  std::int64_t start = 0, end = 0;  // nanoseconds, by the clock of the rows
};

// A call of the driver in a file without the kernel that it launched.
struct LaunchCall {
  std::int64_t correlation = 0;
  std::int64_t start = 0, end = 0;  // nanoseconds
};

// When one launch ran on a device, in nanoseconds; end >= start.
struct LaunchTime {
  std::int64_t start = 0, end = 0;
  std::uint32_t row = 0;  // the row of Measurement::kernels that it was folded into
};

struct Measurement {
  std::string path;    // as given
  std::string format;  // "nvprof", "Nsight Compute", ...
  std::vector<MeasuredKernel> kernels;
  std::int64_t runs = 0;           // how often the model ran in it; 0 when the file does not say
  std::vector<std::string> notes;  // what was left out, and why
  // Counters that the file carries and that have no meaning here (counter.h), each once, in the
  // order in which they first occur.
  std::vector<std::string> unknown_counters;
  void AddUnknownCounter(std::string_view raw);
  // A sampling profiler's: rows are sums over the run and all threads, `launches` counts nothing,
  // and times of several threads add up.
  bool sampled = false;
  // Outermost ranges, in the order of their starts; calls by correlation. Traces only.
  std::vector<MeasuredRange> ranges;
  std::vector<LaunchCall> launch_calls;
  static constexpr std::size_t kMaxRanges = 100'000;
  // After the last one: sorts them. More than a run has are left out, all of them, with a note.
  void FinishRanges();
  // The finest level that it has rows of; that of its ranges where it has no rows.
  TraceLevel level() const;

  // Once rows were folded: the launches that had a start, in the order of the file. Empty before,
  // when the rows themselves tell.
  std::vector<LaunchTime> folded_launches;

  // Rows up to here are kept one by one. Beyond, launches of equal name, operator, module and
  // device fold into their mean, so that a launch takes the 24 bytes of its LaunchTime.
  static constexpr std::size_t kMaxRows = 200'000;
  void Add(MeasuredKernel kernel);
  // So many rows are still to come: when they are more than that, folding begins with the first.
  void Expect(std::size_t rows);

 private:
  std::int64_t launches_ = 0;  // of all rows
  void FoldAll();
  bool folding_ = false;
  void Fold(MeasuredKernel kernel);
  std::unordered_map<std::string, std::size_t> folded_;  // index into kernels, once folding began
  std::unordered_set<std::string> unknown_;
};

}  // namespace dlcost
