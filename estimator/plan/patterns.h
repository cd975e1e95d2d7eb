#pragma once

#include <span>
#include <string_view>

#include "estimator/plan/kernel.h"
#include "models/operators/op_def.h"

namespace dlcost {

// An operator that exporters write as several primitive ones.
struct NamedPattern {
  std::string_view name;  // as in kernel labels: "gelu"
  std::string_view text;  // see Pattern
  FusionRole role;        // how the whole behaves
  std::string_view seen_in;
  // No function of a framework: its operators run one by one unless something fuses them
  // (PlanOptions::composed_apart).
  bool composed = false;
};
std::span<const NamedPattern> NamedPatterns();

// What a kernel can grow by. Kinds of kernels, by the work that shapes them.
enum class KernelKind {
  kProduct,    // matrix product or convolution
  kPointwise,  // one pass over equal extents
  kRows,       // reductions and normalizations over rows
  kMovement,   // rearranged data
  kAttention,
  kOpaque,  // takes nothing
};

// `role` may join a kernel of kind `kernel` when its extents fit.
struct FusionRule {
  KernelKind kernel;
  FusionRole role;
  enum class Extents {
    kOutput,  // as many elements as the kernel writes
    kInput,   // reads as many elements as the kernel writes (a reduction over them)
    kRows,    // as many elements as there are rows, or as rows have elements in all
  } extents;
  KernelKind result;
  // Which set it belongs to; behind a product, kBias or kConvolution where it is that (fuse.cc).
  FusionStep step;
  std::string_view what;
};
std::span<const FusionRule> FusionRules();

}  // namespace dlcost
