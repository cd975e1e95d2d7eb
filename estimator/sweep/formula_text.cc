#include <fmt/format.h>
#include <fmt/ranges.h>

#include "estimator/core/error.h"
#include "estimator/report/table.h"
#include "estimator/sweep/formula_render.h"

namespace dlcost {
namespace {

// "sequence from 2 to 512 (513: ...)".
std::string RangeText(const Formula& formula, CountFamily family, std::size_t v) {
  const CountRegion& region = formula.region;
  const RegionRange& range = region.ranges[static_cast<std::size_t>(family)][v];
  const RegionAxis& axis = region.axes[v];
  std::string text = fmt::format(
      "{} = {} to {}", formula.variables[v],
      WriteNumber(Rational(mpz_class(static_cast<signed long>(range.from))), Notation::kText),
      WriteNumber(Rational(mpz_class(static_cast<signed long>(range.to))), Notation::kText));
  if (axis.period != 1) text += fmt::format(" in steps of {}", axis.period);
  if (!range.why_from.empty()) text += fmt::format("; below, {}", Printable(range.why_from));
  if (!range.why_to.empty()) text += fmt::format("; above, {}", Printable(range.why_to));
  return text;
}

std::string SumText(const Formula& formula, const FormulaQuantity& quantity) {
  if (!quantity.known()) {
    std::string nodes = Printable(quantity.none.front());
    if (quantity.none.size() > 1) nodes += fmt::format(" and {} more", quantity.none.size() - 1);
    return fmt::format("no polynomial: {}", nodes);
  }
  return Write(quantity, formula.variables, Notation::kText);
}

// A line for each term of a total: which operators it comes from.
std::string Origins(const Formula& formula, const FormulaQuantity& quantity) {
  std::string text;
  if (!quantity.known() || quantity.total.straight.terms().size() < 2) return text;
  for (const auto& [powers, coefficient] : quantity.total.straight.terms()) {
    std::vector<std::string> from;
    for (const FormulaPart& part : quantity.by_op) {
      const auto nodes = part.nodes.find(powers);
      if (nodes == part.nodes.end()) continue;
      from.push_back(nodes->second == 1 ? part.name
                                        : fmt::format("{} ({} nodes)", part.name, nodes->second));
    }
    constexpr std::size_t kShown = 6;
    if (from.size() > kShown) {
      const std::size_t more = from.size() - kShown;
      from.resize(kShown);
      from.push_back(fmt::format("{} more", more));
    }
    text += fmt::format("            {}: {}\n",
                        Write(Polynomial(powers, coefficient), formula.variables, Notation::kText),
                        fmt::join(from, ", "));
  }
  return text;
}

std::string PartsTable(const Formula& formula, bool by_scope) {
  const auto& parts = [&](std::string_view key) -> const std::vector<FormulaPart>& {
    const FormulaQuantity& quantity = formula.Of(key);
    return by_scope ? quantity.by_scope : quantity.by_op;
  };
  const auto of = [&](std::string_view key, const std::string& name) -> std::string {
    if (!formula.Of(key).known()) return "?";
    for (const FormulaPart& part : parts(key)) {
      if (part.name == name) return Write(part.sum, formula.variables, Notation::kText);
    }
    return "-";
  };
  std::vector<std::string> names;
  for (const char* key : {"flops", "bytes.default"}) {
    for (const FormulaPart& part : parts(key)) {
      if (std::find(names.begin(), names.end(), part.name) == names.end())
        names.push_back(part.name);
    }
  }
  Table table({by_scope ? "scope" : "operator", "FLOPs", "bytes"}, {true, true, true});
  for (const std::string& name : names) {
    table.Add({Printable(name), of("flops", name), of("bytes.default", name)});
  }
  return table.Render();
}

}  // namespace

std::string FormulaText(const Formula& formula, bool by_scope) {
  std::string text = fmt::format("model     {}\n", Printable(formula.path));
  const auto& counts = formula.region.ranges[static_cast<std::size_t>(CountFamily::kNodes)];
  if (formula.variables.empty()) {
    text += "          every dimension is fixed: these are constants\n";
  }
  for (std::size_t v = 0; v < counts.size(); ++v) {
    text += fmt::format("{}{}\n", v == 0 ? "holds     " : "          ",
                        RangeText(formula, CountFamily::kNodes, v));
    for (int f = 1; f < kCountFamilies; ++f) {
      const auto family = static_cast<CountFamily>(f);
      const RegionRange& range = formula.region.ranges[static_cast<std::size_t>(f)][v];
      if (range.from == counts[v].from && range.to == counts[v].to) continue;
      text += fmt::format("            {}: {}\n", Name(family), RangeText(formula, family, v));
    }
  }
  for (const Point& hole : formula.region.holes) {
    text +=
        fmt::format("            but not at {} = {}, and the like: ends depend on several sizes\n",
                    fmt::join(formula.variables, ", "), fmt::join(hole, ", "));
    break;
  }
  if (!formula.variables.empty()) {
    text += fmt::format("checked   {} sizes counted, {} of them not used for the formula\n",
                        formula.region.samples, formula.region.verified);
  }
  text += "\n";
  for (const FormulaQuantity& quantity : formula.quantities) {
    text += fmt::format("{:<22}= {}\n", quantity.title, SumText(formula, quantity));
    if (quantity.key == "macs" || quantity.key == "bytes.default")
      text += Origins(formula, quantity);
  }
  if (!formula.crossings.empty()) text += "\n";
  for (const Crossing& crossing : formula.crossings) {
    const std::string& name = formula.variables[crossing.variable];
    const auto power = [&](int p) {
      Powers powers(formula.variables.size(), 0);
      powers[crossing.variable] = p;
      return Write(Polynomial(powers, 1), formula.variables, Notation::kText);
    };
    text += fmt::format("crossing  {}: the part in {} passes the part in {} at {} = {}\n",
                        formula.Of(crossing.quantity).title, power(crossing.higher),
                        power(crossing.lower), name,
                        crossing.higher - crossing.lower == 1 && crossing.ratio.get_den() == 1
                            ? WriteNumber(crossing.ratio, Notation::kText)
                            : fmt::format("{:.1f}", crossing.at));
  }
  text += "\n" + PartsTable(formula, by_scope);
  for (const std::string& note : formula.notes)
    text += fmt::format("note      {}\n", Printable(note, 400));
  return text;
}

}  // namespace dlcost
