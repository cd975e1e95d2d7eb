#pragma once

#include <string>

namespace dlcost {

// Every operator and what a training step knows of its derivative: a rule, that it is zero, or why
// there is none. `domain` "" for all. Throws Error for a domain without operators.
std::string DerivativeListText(const std::string& domain);

}  // namespace dlcost
