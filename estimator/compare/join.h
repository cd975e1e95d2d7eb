#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/hardware/device.h"
#include "estimator/profiles/kernel_name.h"
#include "estimator/profiles/measurement.h"
#include "estimator/profiles/weighted_mean.h"
#include "estimator/report/report.h"

namespace dlcost {

// One kernel among those that were joined with a predicted one; per run of the model.
struct MeasuredPart {
  std::string name;
  KernelName told;  // what its name tells
  bool main = false;
  double launches = 0;
  std::optional<double> vector_flops, tensor_flops, tensor_instructions, dram_bytes;
  std::optional<Seconds> time;
  WeightedMean occupancy;
  std::vector<std::int64_t> lines;  // of the file, or numbers of its events

  // On all pipes that were counted.
  std::optional<double> flops() const {
    if (!tensor_flops) return vector_flops;
    return vector_flops.value_or(0) + *tensor_flops;
  }
};

// What was measured for one predicted kernel, in one run of the model.
struct Measured {
  double launches = 0;
  std::optional<double> vector_flops;  // of the pipes that FLOP counters see
  std::optional<double> tensor_flops;  // of the matrix pipe, where it was counted
  std::optional<double> tensor_instructions;
  std::optional<double> dram_bytes;
  std::optional<Seconds> time;
  std::optional<Seconds> host;      // what the calls that launched the kernels took the host
  std::optional<double> allocated;  // bytes of memory, where the profiler saw them
  WeightedMean occupancy;
  std::vector<std::string> names;   // of the kernels, each once, in order
  std::vector<MeasuredPart> parts;  // the same kernels, each name once
  KernelName main;                  // what the name of the main kernel tells
  bool tensor = false;              // one of them runs on the matrix pipe
  std::string joined_by;            // how, and how sure: "name", "order, family, FLOPs within 2 %"
  double confidence = 0;            // 0 to 1
  bool by_name = false;             // a name in the file is that of a node
  bool family_told = false;         // its kernel or the call that launched it says what it does

  bool any() const { return launches > 0; }
};

struct UnmatchedKernel {
  std::string name, why;
  double launches = 0;  // per run
  std::optional<Seconds> time;
  std::optional<double> vector_flops, dram_bytes;
  KernelFamily family = KernelFamily::kUnknown;
  bool before = false;  // launched before the first run
};

// One file held against the plan.
struct Joined {
  std::vector<Measured> kernels;  // as Report::kernels
  // Measured sums that belong to several predicted kernels at once: a table that folds launches by
  // kernel name cannot tell the layers apart. The operator types that share it, comma separated.
  struct Shared {
    std::string ops;
    std::vector<std::size_t> kernels;  // indices into Report::kernels
    Measured measured;
    // These kernels stand beside the products of the named ones: bias, activation, layout changes
    // that the file does not tell apart. The predicted work is in other rows.
    bool beside = false;
  };
  std::vector<Shared> shared;
  std::vector<UnmatchedKernel> unmatched;
  // Between kernels of a run, and from its first start to its last end, where the file has starts.
  std::optional<Seconds> idle, span;
  std::int64_t runs = 1;
  // Names of nodes that its rows carry, each once; those that runtimes insert left out.
  struct Names {
    std::int64_t found = 0, missing = 0;
    std::int64_t other_type = 0;  // of those found, with another operator type than the node's
  };
  Names names;
  bool folded = false;  // the file has sums over launches
  double uneven = 0;    // share of launches of products and markers that are no multiple of `runs`
  // How often one run repeats itself: its products in order, or a factor that all their numbers of
  // launches have. 1 for most models: more says that it was more runs.
  std::int64_t repeats = 1;
  bool runs_by_work = false;  // `runs` is what makes measured and predicted work equal
  std::string runs_from;  // how `runs` is known: "told by the file", "greatest common divisor ..."
  std::vector<std::string> notes;
};

// Joins by name where the rows carry names of nodes (ONNX Runtime, NVTX ranges, annotations,
// TensorFlow); else in order, whole calls of the framework where the trace knows them, single
// kernels where not; else, for tables without order, by what the rows sum up to. `runs`: how often
// the model ran in the file; without it that is inferred. Throws Error where the file cannot hold
// so many runs.
Joined Join(const Report& report, const Measurement& measurement,
            const std::optional<Device>& device, std::optional<std::int64_t> runs = std::nullopt);

}  // namespace dlcost
