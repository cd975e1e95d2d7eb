#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "estimator/infer/infer.h"

namespace dlcost {

inline constexpr std::size_t kNoKernel = static_cast<std::size_t>(-1);

// The kernels that the nodes of a step are part of.
struct KernelOfNode {
  std::vector<std::size_t> of;  // of InferredModel::nodes, kNoKernel where there is none
  std::unordered_map<std::string_view, std::size_t> by_name;  // of nodes

  // kNoKernel where no kernel has a node of that name.
  std::size_t Named(std::string_view node) const {
    const auto known = by_name.find(node);
    return known == by_name.end() ? kNoKernel : known->second;
  }
};

// What lives while a kernel runs beside gradients of parameters, states and copies of the
// parameters, which plans have room for in buffers of their own all the time: the most in the
// passes of a micro-batch, and in the update. `workspaces`: what each kernel needs beside its
// operands.
struct RunningBytes {
  Bytes passes, update;
  Bytes peak;             // of all that is live, what lasts included, workspaces left out
  std::vector<Bytes> of;  // of each kernel
};
RunningBytes BesideLasting(const InferredModel& step, const KernelOfNode& kernel_of_node,
                           const std::vector<Bytes>& workspaces);

// Of every tensor the first forward kernel whose way back reads it: in whose stage it is kept,
// which need not be that of the kernel that makes it. kNoKernel where there is none.
std::vector<std::size_t> KeptFor(const InferredModel& step, const KernelOfNode& kernel_of);

}  // namespace dlcost
