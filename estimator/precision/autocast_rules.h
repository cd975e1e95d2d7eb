#pragma once

#include <span>
#include <string_view>

#include "estimator/core/dtype.h"

namespace dlcost {

// In which type an operator runs under automatic mixed precision.
enum class CastRule {
  kHalf,     // operands in the half type: products
  kFull,     // operands in float32: what sums or grows
  kWidest,   // operands in the widest type among them: all others
  kOwn,      // only operand 0 is data; the others keep the types that they have
  kFloat32,  // knows float32 alone, whatever the precision
};

// What an operator of CastRule::kFull converts as it reads; all else is copied first.
enum class Reads { kFull, kFloat16, kHalves };

struct AutocastRule {
  std::string_view op, domain;
  CastRule rule;
  Reads reads = Reads::kFull;
};

// Operators of the same computations as the lists of PyTorch, "Automatic Mixed Precision package -
// torch.amp", section "CUDA Op-Specific Behavior" (autocast to float16, autocast to float32).
// Operators that are not here run in the widest type of their operands.
std::span<const AutocastRule> AutocastRules();

CastRule AutocastRuleOf(std::string_view domain, std::string_view op);
// Whether the operator takes data of this type as they are, and computes in float32.
bool ReadsAsItIs(std::string_view domain, std::string_view op, DType type);

}  // namespace dlcost
