#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "estimator/sweep/formula_render.h"

namespace dlcost {
namespace {

std::vector<std::string> Identifiers(const Formula& formula) {
  std::vector<std::string> names;
  for (const std::string& variable : formula.variables) names.push_back(Identifier(variable));
  return names;
}

// Where the formulas hold, as lines of a comment.
std::string ConditionLines(const Formula& formula, std::string_view comment) {
  std::string text;
  const auto& ranges = formula.region.ranges[static_cast<std::size_t>(CountFamily::kNodes)];
  for (std::size_t v = 0; v < ranges.size(); ++v) {
    const RegionAxis& axis = formula.region.axes[v];
    text += fmt::format("{} {}: {} to {}", comment, Identifier(formula.variables[v]),
                        ranges[v].from, ranges[v].to);
    if (axis.period != 1)
      text += fmt::format(", {} more than a multiple of {}", axis.Remainder(), axis.period);
    text += "\n";
  }
  return text;
}

// The sizes for which a quantity's formula holds, as a condition; "" for any.
std::string HoldsFor(const Formula& formula, const FormulaQuantity& quantity, Notation notation) {
  std::vector<std::string> conditions;
  const auto& ranges = formula.region.ranges[static_cast<std::size_t>(quantity.family)];
  for (std::size_t v = 0; v < ranges.size(); ++v) {
    const std::string name = Identifier(formula.variables[v]);
    const RegionAxis& axis = formula.region.axes[v];
    conditions.push_back(fmt::format("{} <= {}", ranges[v].from, name));
    conditions.push_back(fmt::format("{} <= {}", name, ranges[v].to));
    if (axis.period != 1) {
      conditions.push_back(fmt::format("{} % {} == {}", name, axis.period, axis.Remainder()));
    }
  }
  return fmt::format("{}", fmt::join(conditions, notation == Notation::kPython ? " and " : " && "));
}

}  // namespace

std::string FormulaPython(const Formula& formula) {
  std::string text = ConditionLines(formula, "#");
  for (const FormulaQuantity& quantity : formula.quantities) {
    if (!quantity.known()) {
      text += fmt::format("# {}: no polynomial\n", quantity.key);
      continue;
    }
    text += fmt::format("def {}({}):\n", Identifier(quantity.key),
                        fmt::join(Identifiers(formula), ", "));
    const std::string holds = HoldsFor(formula, quantity, Notation::kPython);
    if (!holds.empty()) {
      text += fmt::format("    if not ({}): raise ValueError(\"another formula\")\n", holds);
    }
    text += fmt::format("    return {}\n", Write(quantity, formula.variables, Notation::kPython));
  }
  return text;
}

std::string FormulaCpp(const Formula& formula) {
  std::string text = "#include <algorithm>\n#include <cstdint>\n#include <stdexcept>\n" +
                     ConditionLines(formula, "//");
  std::vector<std::string> parameters;
  for (const std::string& name : Identifiers(formula)) {
    parameters.push_back("std::int64_t " + name);
  }
  for (const FormulaQuantity& quantity : formula.quantities) {
    if (!quantity.known()) {
      text += fmt::format("// {}: no polynomial\n", quantity.key);
      continue;
    }
    const std::string value = Write(quantity, formula.variables, Notation::kCpp);
    const std::string holds = HoldsFor(formula, quantity, Notation::kCpp);
    text += fmt::format("constexpr std::int64_t {}({}) {{\n", Identifier(quantity.key),
                        fmt::join(parameters, ", "));
    if (!holds.empty()) {
      text += fmt::format("  if (!({})) throw std::out_of_range(\"another formula\");\n", holds);
    }
    text += fmt::format("  return {};\n}}\n", value);
  }
  return text;
}

std::string FormulaLatex(const Formula& formula) {
  std::string text = "\\begin{align*}\n";
  for (const FormulaQuantity& quantity : formula.quantities) {
    if (!quantity.known()) continue;
    std::string name = quantity.title;
    name.erase(0, name.find_first_not_of(' '));
    text += fmt::format("\\text{{{}}} &= {} \\\\\n", name,
                        Write(quantity, formula.variables, Notation::kLatex));
  }
  return text + "\\end{align*}\n";
}

}  // namespace dlcost
