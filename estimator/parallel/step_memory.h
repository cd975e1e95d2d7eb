#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "estimator/infer/infer.h"

namespace dlcost {

// The kernel of every node, by the node's name.
using KernelOfNode = std::unordered_map<std::string, std::size_t>;

// The most that lives while a kernel runs beside gradients of parameters, states and copies of the
// parameters, which plans have room for in buffers of their own all the time: in the passes of a
// micro-batch, and in the update.
struct RunningBytes {
  Bytes passes, update;
};
RunningBytes BesideLasting(const InferredModel& step, const KernelOfNode& kernel_of_node);

// The first forward kernel whose way back reads a value: in whose stage it is kept, which need not
// be that of the kernel that makes it.
std::unordered_map<TensorId, std::size_t> KeptFor(const InferredModel& step,
                                                  const KernelOfNode& kernel_of);

}  // namespace dlcost
