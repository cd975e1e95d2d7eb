#include "estimator/plan/kernel_memory.h"

#include <algorithm>

namespace dlcost {

KernelMemory::KernelMemory(const InferredModel& model)
    : model_(model), kernel_of_(model.nodes.size()) {}

void KernelMemory::Add(const Kernel& kernel) {
  bool known = true, main = false;
  for (const std::size_t n : kernel.nodes) {
    kernel_of_[n] = kernels_;
    known &= model_.nodes[n].status == NodeStatus::kMetadata;
    main |= model_.nodes[n].graph == &model_.model->graph;
  }
  ++kernels_;
  if (main) mains_.push_back(known ? std::nullopt : std::optional(kernel.main));
}

std::vector<Buffer> KernelMemory::Buffers() const { return dlcost::Buffers(model_, kernel_of_); }

std::vector<Bytes> KernelMemory::Live() const { return LiveBytes(model_, kernel_of_); }

std::vector<Bytes> LiveBytes(const InferredModel& model, const PlanOptions& options) {
  KernelMemory memory(model);
  ForEachKernel(model, options, [&](const Kernel& kernel) { memory.Add(kernel); });
  return memory.Live();
}

}  // namespace dlcost
