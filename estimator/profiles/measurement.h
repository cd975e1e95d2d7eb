#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "estimator/core/units.h"
#include "estimator/profiles/counter.h"

namespace dlcost {

// What a measured row is.
enum class MeasuredKind {
  kKernel,  // work on the device: a GPU kernel, a primitive of a CPU library, a function
  kCopy,    // a copy or fill of memory
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
  std::optional<Seconds> start;     // since an origin that the profiler chose
  std::optional<Seconds> duration;  // of one launch
  std::string op;                   // the framework's operator or annotated range that launched it
  std::string op_type;              // "Conv", "aten::conv2d": its type, where the file says
  std::int64_t call = -1;           // equal for kernels of the same call of `op`; -1: not told
  std::vector<std::string> scope;   // ranges around `op`, outermost first
  std::string stream;
  std::optional<std::int64_t> process, correlation;
  std::optional<std::array<std::int64_t, 3>> grid, block;
  std::vector<Counter> counters;
  std::vector<float> samples;  // durations in seconds of the launches that a reader folded into one
  std::int64_t line = 0;       // of the file, or number of the event in it

  const Counter* Find(Metric metric) const;
  // FLOPs of the vector pipes over all types; nothing when no such counter was taken.
  std::optional<double> VectorFlops() const;
  // DRAM bytes read and written; nothing unless both (or their sum) were counted.
  std::optional<double> DramBytes() const;
};

struct Measurement {
  std::string path;    // as given
  std::string format;  // "nvprof", "Nsight Compute", ...
  std::vector<MeasuredKernel> kernels;
  std::int64_t runs = 0;           // how often the model ran in it; 0 when the file does not say
  std::vector<std::string> notes;  // what was left out, and why

  // Rows up to here are kept one by one. Beyond, launches of equal name, operator and device fold
  // into their mean, so that memory is bounded by the names in the file, not by its length.
  static constexpr std::size_t kMaxRows = 200'000;
  void Add(MeasuredKernel kernel);

 private:
  void Fold(MeasuredKernel kernel);
  std::unordered_map<std::string, std::size_t> folded_;  // index into kernels, once folding began
};

}  // namespace dlcost
