#pragma once

#include <string>
#include <vector>

namespace dlcost {

// What `dlcost ops` prints. All of it comes from the operators' own tables.

// One operator as its table has it.
struct OperatorFacts {
  std::string name, domain;  // "ai.onnx" is the standard one
  std::vector<int> versions;
  int removed_in = 0;  // 0: not removed
  std::string formula;
  std::string derivative;  // what a training step knows of it (derivative_list.h)
};
// By domain, the standard one first, each sorted by name. `domain` "": all. Throws Error for a
// domain without operators.
std::vector<OperatorFacts> OperatorList(const std::string& domain);

// Every operator, by domain: versions and formula. `domain` "" lists all domains; "ai.onnx" is the
// standard one. Throws Error for a domain without operators.
std::string OperatorListText(const std::string& domain, std::size_t max_width = 0);
// One operator ("Conv", or with its domain "com.microsoft:Attention"): versions, formula and worked
// examples, run through the operator's own functions. Throws Error with the nearest spelling.
std::string OperatorText(const std::string& name);
// The table in docs/operators.md.
std::string OperatorsMarkdown();

}  // namespace dlcost
