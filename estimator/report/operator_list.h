#pragma once

#include <string>

namespace dlcost {

// What `dlcost ops` prints. All of it comes from the operators' own tables.

// Every operator, by domain: versions and formula. `domain` "" lists all domains; "ai.onnx" is the
// standard one. Throws Error for a domain without operators.
std::string OperatorListText(const std::string& domain, std::size_t max_width = 0);
// One operator ("Conv", or with its domain "com.microsoft:Attention"): versions, formula and worked
// examples, run through the operator's own functions. Throws Error with the nearest spelling.
std::string OperatorText(const std::string& name);
// The table in docs/operators.md.
std::string OperatorsMarkdown();

}  // namespace dlcost
