#pragma once

#include <string>
#include <vector>

namespace dlcost::api {

// An operator that is counted (docs/operators.md).
struct Operator {
  std::string name, domain;   // "ai.onnx" is the standard one
  std::vector<int> versions;  // opsets in which its definition changed
  int removed_in = 0;         // 0: not removed
  std::string formula;        // of its work
  std::string derivative;     // what a training step knows of it: "a rule", or why there is none
};

// By domain, the standard one first, each sorted by name. `domain` "": all. Throws Error for a
// domain without operators.
std::vector<Operator> Operators(const std::string& domain = "");

// As `dlcost ops` tells it: all of a domain, or one ("Conv", "com.microsoft:Attention") with
// worked examples. Throws Error with the nearest spelling.
std::string OperatorsText(const std::string& domain = "");
std::string OperatorText(const std::string& name);
// Every operator and its derivative.
std::string DerivativesText(const std::string& domain = "");

}  // namespace dlcost::api
