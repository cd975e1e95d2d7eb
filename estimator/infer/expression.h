#pragma once

#include <functional>
#include <string>
#include <vector>

#include "estimator/core/count.h"

namespace dlcost {

// An integer expression of a user's file: + - * / % with C's precedence, parentheses, min, max,
// ceil_div, elements(in0), rank(in0), dimensions in0[1] and out0[-1], attributes by name. Division
// rounds down and must not be by zero; everything is checked 64-bit arithmetic.
class Expression {
 public:
  // What names mean. Both throw Error for a name that has no meaning.
  struct Names {
    // Dimensions of a tensor: "in0", "out1".
    std::function<std::vector<std::int64_t>(const std::string&)> tensor;
    // A plain name: an attribute.
    std::function<Count(const std::string&)> number;
  };

  explicit Expression(std::string text) : text_(std::move(text)) {}
  const std::string& text() const { return text_; }
  // Throws Error that shows the expression and the place in it.
  Count Evaluate(const Names& names) const;

 private:
  std::string text_;
};

}  // namespace dlcost
