#pragma once

#include <string>
#include <vector>

#include "estimator/graph/graph.h"
#include "models/operators/op_def.h"

namespace dlcost {

// A worked example of the operator table, run through the operator's own functions.
struct CaseResult {
  std::vector<Tensor> outputs;
  OpCost cost;
};

// Builds a one-node graph from the texts of `op_case` (grammar: OpCase in op_def.h), infers,
// propagates, costs. Throws Error for a malformed case.
CaseResult RunCase(const OpDef& def, const OpCase& op_case);

// The outputs as OpCase::outputs writes them: "f32[1,64,56,56]", with "{1,2}" behind when the value
// is known and `with_values` is set, "?" for an unknown shape, joined by spaces.
std::string OutputsText(const std::vector<Tensor>& outputs, bool with_values);

// Tensor types as texts, as the cases write them. Throws Error for a malformed text.
std::vector<Tensor> ParseCaseTensors(std::string_view text);
std::vector<Attribute> ParseCaseAttributes(std::string_view text);

}  // namespace dlcost
