#include "estimator/sweep/formula.h"

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/report/scope.h"
#include "estimator/sweep/formula_builder.h"
#include "estimator/sweep/region_ends.h"

namespace dlcost {

Rational BentPart::At(const Point& point) const {
  Rational value = 0;
  for (const Polynomial& piece : beyond) {
    const Rational other = piece.At(point);
    if (smallest ? other < value : other > value) value = other;
  }
  return times * value;
}

Rational FormulaSum::At(const Point& point) const {
  Rational sum = straight.At(point);
  for (const BentPart& part : bent) sum += part.At(point);
  return sum;
}

std::int64_t FormulaQuantity::At(const Point& point) const {
  if (!known()) throw Error("{}: no formula, for {} follows no polynomial", key, none.front());
  Rational value = total.At(point);
  for (const FormulaSum& other : or_larger) value = std::max(value, other.At(point));
  if (value.get_den() != 1 || !value.get_num().fits_slong_p()) {
    throw Error("{}: {} is no count", key, value.get_str());
  }
  return value.get_num().get_si();
}

const FormulaQuantity& Formula::Of(std::string_view key) const {
  std::vector<std::string> keys;
  for (const FormulaQuantity& quantity : quantities) {
    if (quantity.key == key) return quantity;
    keys.push_back(quantity.key);
  }
  throw Error("'{}' is no quantity of a formula{}", Printable(std::string(key)),
              DidYouMean(std::string(key), keys));
}

namespace {

Formula FormulaAround(const ModelAt& model_at, const std::vector<std::string>& variables,
                      const Point& base, const FormulaOptions& options) {
  Formula formula;
  formula.variables = variables;
  formula.convention = options.convention;
  std::vector<CountSlot> layout;
  std::vector<CountFamily> families;
  std::vector<FormulaNode> nodes;
  {
    const InferredModel model = options.advised_at ? options.advised_at(base) : model_at(base);
    formula.path = model.model->path;
    formula.name = model.model->name;
    formula.notes = model.notes;
    layout = LayoutOf(model, options.plan);
    for (const CountSlot& slot : layout) families.push_back(slot.family);
    std::vector<std::string> rows;
    for (const CountedNode& counted : model.nodes) rows.push_back(counted.node->op);
    ForEachKernel(model, options.plan, [&](const Kernel& kernel) {
      for (const std::size_t n : kernel.nodes) {
        if (kernel.spelled_attention) rows[n] = kAttentionRow;
      }
    });
    for (const CountedNode& counted : model.nodes) {
      nodes.push_back({counted.name, std::move(rows[nodes.size()]),
                       std::string(ScopeAtDepth(counted.node->scope, options.scope_depth))});
    }
  }
  formula.region =
      FindRegion([&](const Point& point) { return TallyOf(model_at(point), options.plan); }, base,
                 families, options.region);
  BuildQuantities(layout, nodes, formula);
  return formula;
}

// How many times larger than its smallest size a variable may be.
double Width(const Formula& formula, std::size_t v) {
  const RegionRange& range =
      formula.region.ranges[static_cast<std::size_t>(CountFamily::kNodes)][v];
  return static_cast<double>(range.to) / static_cast<double>(range.from);
}

// Above it the model goes on, with other counts.
bool GoesOnAbove(const RegionRange& range) {
  return range.why_to.starts_with(kOtherStructure) || range.why_to.starts_with(kBends);
}

}  // namespace

Formula FindFormula(const ModelAt& model_at, const std::vector<std::string>& variables,
                    const Point& base, const FormulaOptions& options) {
  constexpr double kNarrow = 16;
  Formula formula = FormulaAround(model_at, variables, base, options);
  const Count counted = Count(formula.region.samples) *
                        static_cast<std::int64_t>(formula.region.polynomial_of.size());
  if (!options.may_move || !options.region.ranges || counted > Count(options.region.max_counted)) {
    return formula;
  }
  for (std::size_t v = 0; v < base.size(); ++v) {
    for (const std::int64_t times : {16, 128}) {
      const RegionRange& range =
          formula.region.ranges[static_cast<std::size_t>(CountFamily::kNodes)][v];
      if (!GoesOnAbove(range) || Width(formula, v) >= kNarrow) break;
      Point larger = base;
      larger[v] *= times;
      try {
        Formula other = FormulaAround(model_at, variables, larger, options);
        if (Width(other, v) > Width(formula, v)) formula = std::move(other);
      } catch (const Error&) {  // there is no larger one
        break;
      }
    }
  }
  return formula;
}

}  // namespace dlcost
