#pragma once

#include <span>
#include <string_view>

namespace dlcost {

// In which type an operator runs under automatic mixed precision.
enum class CastRule {
  kHalf,     // operands in the half type: products
  kFull,     // operands in float32: what sums or grows
  kWidest,   // operands in the widest type among them: all others
  kOwn,      // only operand 0 is data; the others keep the types that they have
  kFloat32,  // knows float32 alone, whatever the precision
};

struct AutocastRule {
  std::string_view op, domain;
  CastRule rule;
};

// Operators of the same computations as the lists of PyTorch, "Automatic Mixed Precision package -
// torch.amp", section "CUDA Op-Specific Behavior" (autocast to float16, autocast to float32).
// Operators that are not here run in the widest type of their operands.
std::span<const AutocastRule> AutocastRules();

CastRule AutocastRuleOf(std::string_view domain, std::string_view op);

}  // namespace dlcost
