#pragma once

#include <string>
#include <string_view>

#include "models/operators/registry.h"

namespace dlcost {

// What a training step knows of an operator's derivative: "a rule", "zero wherever there is one",
// or why there is none.
std::string_view DerivativeOf(const OpDef& def);

// Every operator and what a training step knows of its derivative: a rule, that it is zero, or why
// there is none. `domain` "" for all. Throws Error for a domain without operators.
std::string DerivativeListText(const std::string& domain);

}  // namespace dlcost
