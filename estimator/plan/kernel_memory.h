#pragma once

#include <optional>
#include <vector>

#include "estimator/infer/memory.h"
#include "estimator/plan/kernel.h"

namespace dlcost {

// Activation memory of kernels and not of nodes: what a fused kernel keeps inside has no buffer.
class KernelMemory {
 public:
  explicit KernelMemory(const InferredModel& model);

  void Add(const Kernel& kernel);  // in the order of ForEachKernel

  // What lives at the start, and while each kernel of the main graph runs; the tensors that live.
  LiveBuffers Live() const { return LiveAndBuffers(model_, kernel_of_, views_); }
  // Of each of these kernels the node that names it; none for what is known before the run.
  const std::vector<std::optional<std::size_t>>& mains() const { return mains_; }

 private:
  const InferredModel& model_;
  std::size_t kernels_ = 0;
  std::vector<std::size_t> kernel_of_;
  std::vector<bool> views_;
  std::vector<std::optional<std::size_t>> mains_;
};

// What lives at the start, and while each kernel of the main graph runs.
std::vector<Bytes> LiveBytes(const InferredModel& model, const PlanOptions& options);

}  // namespace dlcost
