#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "models/operators/op_def.h"

namespace dlcost {

// The tables of all families, in the order of the documentation.
std::span<const std::span<const OpDef>> OperatorFamilies();

// The definition of an operator, or null. `domain` "ai.onnx" means "".
const OpDef* FindOperator(std::string_view domain, std::string_view name);

// The version at which the definition in force at `opset` appeared: the greatest entry of `since`
// that is not greater. An opset before the first entry gets the first (exporters write operators
// earlier than the specification has them).
int SinceVersion(const OpDef& def, int opset);

// Every operator name of a domain, sorted, for suggestions.
std::vector<std::string> OperatorNames(std::string_view domain);

}  // namespace dlcost
