#include "estimator/plan/kernel_memory.h"

#include <algorithm>

namespace dlcost {

KernelMemory::KernelMemory(const InferredModel& model)
    : model_(model), kernel_of_(model.nodes.size()), views_(model.nodes.size()) {}

void KernelMemory::Add(const Kernel& kernel) {
  bool known = true, main = false;
  for (const std::size_t n : kernel.nodes) {
    kernel_of_[n] = kernels_;
    known &= model_.nodes[n].status == NodeStatus::kMetadata;
    main |= model_.nodes[n].graph == &model_.model->graph;
  }
  for (const std::size_t n : kernel.looks) views_[n] = true;
  ++kernels_;
  if (main) mains_.push_back(known ? std::nullopt : std::optional(kernel.main));
}

std::vector<Bytes> LiveBytes(const InferredModel& model, const PlanOptions& options) {
  KernelMemory memory(model);
  ForEachKernel(model, options, [&](const Kernel& kernel) { memory.Add(kernel); });
  return memory.Live().live;
}

}  // namespace dlcost
