#pragma once

#include <string>
#include <vector>

#include "estimator/core/shape.h"

namespace dlcost {

// The letters of an Einsum's equation, one for each axis: of each operand, and of the result.
struct Equation {
  std::vector<std::string> terms;
  std::string result;
};

// Spells out what the text leaves to the shapes: "...", and a result that it does not name. Throws
// Unresolved where it does not fit them.
Equation SpelledEquation(const std::string& text, const std::vector<Shape>& operands,
                         const Shape& result);

}  // namespace dlcost
