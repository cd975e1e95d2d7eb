#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dlcost/model.h"
#include "dlcost/options.h"

namespace dlcost::api {

// Counts as functions of the sizes that the bindings leave open (docs/dimensions.md).
struct FormulaRequest {
  Bindings bindings;
  Options options;
  // Sizes that follow others: {"target", "source"}, {"total", "past + sequence"}.
  std::map<std::string, std::string> tied;
  // Where structure depends on a size: the formula that holds around this one.
  std::map<std::string, std::int64_t> around;
};

// One quantity: "macs", "flops", "bytes.default", "parameters", "weight_bytes", ...
struct FormulaQuantity {
  std::string key, title;
  std::string text;    // for people: "batch·(62,984,192·sequence + ...)"; "" without a formula
  std::string python;  // an expression in whole numbers, exact
  std::vector<std::string> no_polynomial_at;  // nodes that have none: then there is no formula
};

class Formula {
 public:
  std::vector<std::string> variables() const;  // the batch first
  std::vector<FormulaQuantity> quantities() const;
  std::vector<std::string> notes() const;

  // A quantity at sizes of all variables: equal to what Count says there. Throws Error for a name
  // that is not there, and for sizes at which the formula does not hold.
  std::int64_t At(const std::string& quantity,
                  const std::map<std::string, std::int64_t>& sizes) const;

  // The renderings of `dlcost formula`. `by`: op or scope.
  std::string Text(const std::string& by = "op") const;
  std::string Json() const;  // schema dlcost.formula/1
  std::string Latex() const;
  std::string Python() const;  // functions to paste, one for each quantity
  std::string Cpp() const;

  struct State;
  explicit Formula(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

// Throws Error where no sizes are found that the model takes.
Formula FindFormula(const Model& model, const FormulaRequest& request = {});

}  // namespace dlcost::api
