#include "estimator/report/json_writer.h"
#include "estimator/sweep/formula_render.h"

namespace dlcost {
namespace {

class FormulaWriter {
 public:
  FormulaWriter(const Formula& formula, JsonWriter& json) : formula_(formula), json_(json) {}

  void Run() {
    json_.BeginObject();
    json_.Member("schema", kFormulaSchema);
    json_.Key("model");
    json_.BeginObject();
    json_.Member("path", formula_.path);
    json_.Member("name", formula_.name);
    json_.EndObject();
    json_.Member("convention", formula_.convention);
    json_.Key("variables");
    json_.BeginArray();
    for (std::size_t v = 0; v < formula_.variables.size(); ++v) WriteVariable(v);
    json_.EndArray();
    json_.Member("sizes_counted", formula_.region.samples);
    json_.Member("sizes_checked", formula_.region.verified);
    json_.Key("quantities");
    json_.BeginObject();
    for (const FormulaQuantity& quantity : formula_.quantities) WriteQuantity(quantity);
    json_.EndObject();
    json_.Key("crossings");
    json_.BeginArray();
    for (const Crossing& crossing : formula_.crossings) WriteCrossing(crossing);
    json_.EndArray();
    json_.Member("notes", formula_.notes);
    json_.EndObject();
    json_.Finish();
  }

 private:
  void WriteVariable(std::size_t v) {
    const RegionAxis& axis = formula_.region.axes[v];
    json_.BeginObject();
    json_.Member("name", formula_.variables[v]);
    json_.Member("period", axis.period);
    json_.Member("remainder", axis.Remainder());
    json_.Key("ranges");
    json_.BeginArray();
    for (int f = 0; f < kCountFamilies; ++f) {
      const RegionRange& range = formula_.region.ranges[static_cast<std::size_t>(f)][v];
      json_.BeginObject();
      json_.Member("of", Name(static_cast<CountFamily>(f)));
      json_.Member("from", range.from);
      json_.Member("to", range.to);
      json_.Member("below", range.why_from);
      json_.Member("above", range.why_to);
      json_.EndObject();
    }
    json_.EndArray();
    json_.EndObject();
  }

  void WritePolynomial(const Polynomial& polynomial) {
    json_.BeginObject();
    json_.Key("terms");
    json_.BeginArray();
    for (const auto& [powers, coefficient] : polynomial.terms()) {
      json_.BeginObject();
      json_.Member("coefficient", coefficient.get_str());  // "3969/64": beyond what a double holds
      json_.Key("powers");
      json_.BeginObject();
      for (std::size_t v = 0; v < powers.size(); ++v) {
        if (powers[v] > 0) json_.Member(formula_.variables[v], std::int64_t(powers[v]));
      }
      json_.EndObject();
      json_.EndObject();
    }
    json_.EndArray();
    json_.EndObject();
  }

  void WriteSum(const FormulaSum& sum) {
    json_.BeginObject();
    json_.Member("text", Write(sum, formula_.variables, Notation::kText));
    json_.Member("python", Write(sum, formula_.variables, Notation::kPython));
    json_.Key("polynomial");
    WritePolynomial(sum.straight);
    json_.Key("bends");
    json_.BeginArray();
    for (const BentPart& part : sum.bent) {
      json_.BeginObject();
      json_.Member("times", part.times.get_str());
      json_.Member("function", part.smallest ? "min" : "max");
      json_.Key("of_0_and");
      json_.BeginArray();
      for (const Polynomial& piece : part.beyond) WritePolynomial(piece);
      json_.EndArray();
      json_.EndObject();
    }
    json_.EndArray();
    json_.EndObject();
  }

  void WriteParts(std::string_view key, const std::vector<FormulaPart>& parts) {
    json_.Key(key);
    json_.BeginArray();
    for (const FormulaPart& part : parts) {
      json_.BeginObject();
      json_.Member("name", part.name);
      json_.Key("sum");
      WriteSum(part.sum);
      json_.EndObject();
    }
    json_.EndArray();
  }

  void WriteQuantity(const FormulaQuantity& quantity) {
    json_.Key(quantity.key);
    json_.BeginObject();
    if (!quantity.known()) {
      json_.Member("no_polynomial_at", quantity.none);
      json_.EndObject();
      return;
    }
    json_.Member("range", Name(quantity.family));
    json_.Key("largest_of");
    json_.BeginArray();
    WriteSum(quantity.total);
    for (const FormulaSum& other : quantity.or_larger) WriteSum(other);
    json_.EndArray();
    WriteParts("by_op", quantity.by_op);
    WriteParts("by_scope", quantity.by_scope);
    json_.EndObject();
  }

  void WriteCrossing(const Crossing& crossing) {
    json_.BeginObject();
    json_.Member("quantity", crossing.quantity);
    json_.Member("variable", formula_.variables[crossing.variable]);
    json_.Member("higher_power", std::int64_t(crossing.higher));
    json_.Member("lower_power", std::int64_t(crossing.lower));
    json_.Member("ratio", crossing.ratio.get_str());
    json_.Member("at", crossing.at);
    json_.EndObject();
  }

  const Formula& formula_;
  JsonWriter& json_;
};

}  // namespace

std::string FormulaJson(const Formula& formula) {
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; });
  FormulaWriter(formula, json).Run();
  return text;
}

}  // namespace dlcost
