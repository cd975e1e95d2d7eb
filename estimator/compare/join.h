#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/profiles/kernel_name.h"
#include "estimator/profiles/measurement.h"
#include "estimator/report/report.h"

namespace dlcost {

// What was measured for one predicted kernel, in one run of the model.
struct Measured {
  double launches = 0;
  std::optional<double> vector_flops;  // of the pipes that FLOP counters see
  std::optional<double> tensor_flops;  // of the matrix pipe, where it was counted
  std::optional<double> tensor_instructions;
  std::optional<double> dram_bytes;
  std::optional<Seconds> time;
  std::optional<double> occupancy;  // of the longest kernel
  std::vector<std::string> names;   // of the kernels, each once, in order
  KernelName main;                  // what the name of the main kernel tells
  bool tensor = false;              // one of them runs on the matrix pipe
  std::string joined_by;            // how, and how sure: "name", "order, family, FLOPs within 2 %"
  double confidence = 0;            // 0 to 1

  bool any() const { return launches > 0; }
};

struct UnmatchedKernel {
  std::string name, why;
  double launches = 0;  // per run
  std::optional<Seconds> time;
  std::optional<double> vector_flops, dram_bytes;
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
  };
  std::vector<Shared> shared;
  std::vector<UnmatchedKernel> unmatched;
  std::optional<Seconds> idle;  // between kernels of a run, where the file has their starts
  std::int64_t runs = 1;
  std::vector<std::string> notes;
};

// Joins by name where the rows carry names of nodes (ONNX Runtime, NVTX ranges, TensorFlow); else
// in order, whole calls of the framework where the trace knows them, single kernels where not;
// else, for tables without order, by family of operators.
Joined Join(const Report& report, const Measurement& measurement);

}  // namespace dlcost
