#include "dlcost/formula.h"

#include "estimator/api/state.h"
#include "estimator/core/spelling.h"
#include "estimator/request/model_formula.h"
#include "estimator/sweep/formula_render.h"

namespace dlcost::api {

struct Formula::State {
  dlcost::Formula formula;
};

Formula::Formula(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Formula FindFormula(const Model& model, const FormulaRequest& request) {
  return Guarded([&] {
    dlcost::FormulaRequest asked;
    asked.model = ModelOptionsOf(model, request.bindings, request.options);
    asked.count = CountOptionsOf(request.options);
    asked.tied = request.tied;
    asked.around = request.around;
    asked.scope_depth = request.options.scope_depth;
    return Formula(std::make_shared<const Formula::State>(Formula::State{FormulaOf(asked)}));
  });
}

std::vector<std::string> Formula::variables() const { return state_->formula.variables; }
std::vector<std::string> Formula::notes() const { return state_->formula.notes; }

std::vector<FormulaQuantity> Formula::quantities() const {
  const dlcost::Formula& formula = state_->formula;
  std::vector<FormulaQuantity> quantities;
  for (const dlcost::FormulaQuantity& from : formula.quantities) {
    FormulaQuantity& quantity = quantities.emplace_back();
    quantity.key = from.key;
    quantity.title = from.title;
    quantity.no_polynomial_at = from.none;
    if (!from.known()) continue;
    quantity.text = Write(from, formula.variables, Notation::kText);
    quantity.python = Write(from, formula.variables, Notation::kPython);
  }
  return quantities;
}

std::int64_t Formula::At(const std::string& quantity,
                         const std::map<std::string, std::int64_t>& sizes) const {
  return Guarded([&] {
    const dlcost::Formula& formula = state_->formula;
    const dlcost::FormulaQuantity& of = formula.Of(quantity);
    for (const auto& [name, size] : sizes) RequireOneOf("size", name, formula.variables);
    Point point;
    for (const std::string& variable : formula.variables) {
      const auto size = sizes.find(variable);
      if (size == sizes.end()) throw dlcost::Error("no size of '{}'", Printable(variable));
      point.push_back(size->second);
    }
    if (of.known() && !formula.Holds(of, point)) {
      throw dlcost::Error("the formula of {} does not hold at these sizes: find one around them",
                          of.key);
    }
    return of.At(point);
  });
}

std::string Formula::Text(const std::string& by) const {
  return Guarded([&] {
    RequireOneOf("by", by, {"op", "scope"});
    return FormulaText(state_->formula, by == "scope");
  });
}
std::string Formula::Json() const {
  return Guarded([&] { return FormulaJson(state_->formula); });
}
std::string Formula::Latex() const {
  return Guarded([&] { return FormulaLatex(state_->formula); });
}
std::string Formula::Python() const {
  return Guarded([&] { return FormulaPython(state_->formula); });
}
std::string Formula::Cpp() const {
  return Guarded([&] { return FormulaCpp(state_->formula); });
}

}  // namespace dlcost::api
