#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/profiles/kernel_name.h"

namespace dlcost {

// A kernel that the model should launch, in execution order.
struct Slot {
  std::string op;  // ONNX operator that names it
  KernelFamily family = KernelFamily::kUnknown;
  bool follows = false;         // has a bias or fused neighbours, which other kernels may compute
  std::optional<double> flops;  // predicted, executed on the vector pipe
};

// Something that ran, in order: a kernel, or all kernels of one call of a framework.
struct Item {
  std::string name;
  KernelFamily family = KernelFamily::kUnknown;
  bool tensor = false;  // its FLOPs are not in the counters of the vector pipe
  std::optional<double> flops;
};

struct Assignment {
  int slot = -1;      // -1: none
  bool main = false;  // does the slot's work, rather than preparing or finishing it
  int score = 0;
};

// The best monotone assignment of items to slots (dynamic programming over both sequences): a slot
// takes at most one main item of its own family, and helpers: layout changes and transforms around
// a convolution, split-k epilogues behind a product, bias and activation behind either. FLOPs close
// to the prediction count for an item, FLOPs far from it against it. Throws Error when slots x
// items exceed 2^26.
std::vector<Assignment> Align(const std::vector<Slot>& slots, const std::vector<Item>& items);

}  // namespace dlcost
