// Formulas against what inference says, at sizes that they were not made from.
#include "estimator/sweep/formula.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "estimator/infer/infer_once.h"
#include "estimator/onnx/reader.h"
#include "estimator/report/report.h"
#include "models/networks/networks.h"
#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

// Random sizes of each model, and which of the models: sanitizers make each forty times as slow.
#ifdef DLCOST_SANITIZE
constexpr int kTries = 1, kEvery = 7, kNetworks = 12;
#else
constexpr int kTries = 25, kEvery = 1, kNetworks = 1;
#endif

struct Case {
  Model model;
  ModelVariables variables;
  Formula formula;

  InferredModel At(const Point& point) const {
    InferOptions options;
    options.bindings = variables.At(point);
    return Infer(*Uninferred(model), options);
  }
};

Case FormulaOf(Model model, const TiedDims& tied = {}, const Point& around = {}) {
  ModelVariables variables = ModelVariables::Of(model, {}, tied);
  if (!around.empty()) variables.base() = around;
  Case made{std::move(model), variables, {}};
  made.formula =
      FindFormula([&](const Point& point) { return made.At(point); }, made.variables.names(),
                  made.variables.base(), {.plan = {.fusion = Fusion::kDefault}, .may_move = true});
  return made;
}

Case NetworkFormula(const std::string& name, const NetworkOptions& options = {},
                    const TiedDims& tied = {}) {
  return FormulaOf(ReadModelFromBytes(BuildNetwork(name, options), name), tied);
}

Polynomial Total(const Case& made, std::string_view key) {
  const FormulaQuantity& quantity = made.formula.Of(key);
  EXPECT_TRUE(quantity.known()) << key;
  EXPECT_TRUE(quantity.total.bent.empty()) << key;
  return quantity.total.straight;
}

// What reports of a model say, without a device, at each level of fusion.
class Reported {
 public:
  explicit Reported(const InferredModel& model) {
    for (const Fusion fusion : {Fusion::kNone, Fusion::kDefault, Fusion::kIdeal}) {
      ReportOptions options{.detail = ReportDetail::kOperators};
      options.plan.fusion = fusion;
      reports_.emplace("bytes." + std::string(Name(fusion)),
                       BuildReport(model, std::nullopt, options));
    }
  }

  std::int64_t Of(const std::string& key) const {
    if (reports_.count(key) != 0) return reports_.at(key).totals.bytes().value();
    const Report& report = reports_.at("bytes.default");
    if (key == "macs") return report.totals.macs.value();
    if (key == "flops") return report.totals.flops.value();
    if (key == "parameters") return report.model.parameters.value();
    if (key == "weight_bytes") return report.model.weight_bytes.value();
    if (key == "peak_activation_bytes") return report.peak_activation_bytes.value();
    for (int c = 0; c < kOpClassCount; ++c) {
      const auto op_class = static_cast<OpClass>(c);
      if (key == "work." + std::string(Name(op_class))) {
        return report.totals.work.Of(op_class).value();
      }
    }
    ADD_FAILURE() << "no such number in a report: " << key;
    return -1;
  }

 private:
  std::map<std::string, Report> reports_;
};

// At `tries` random sizes (the same every time): every quantity whose formula holds there is
// exactly the report's. Returns how many numbers were compared.
int CompareFormulaWithReports(const Case& made, int tries) {
  const CountRegion& region = made.formula.region;
  std::mt19937_64 random(7);
  int compared = 0;
  for (int i = 0; i < tries; ++i) {
    Point point;
    for (std::size_t v = 0; v < region.axes.size(); ++v) {
      const RegionRange& range = region.ranges[0][v];
      const std::int64_t top = std::min<std::int64_t>(range.to, 3000);
      const std::int64_t steps = (top - range.from) / region.axes[v].period;
      point.push_back(range.from + region.axes[v].period *
                                       static_cast<std::int64_t>(
                                           random() % static_cast<std::uint64_t>(steps + 1)));
    }
    const Reported reported(made.At(point));
    for (const FormulaQuantity& quantity : made.formula.quantities) {
      if (!made.formula.Holds(quantity, point)) continue;
      ++compared;
      EXPECT_EQ(quantity.At(point), reported.Of(quantity.key))
          << made.formula.path << " " << quantity.key << " at " << testing::PrintToString(point);
    }
  }
  return compared;
}

// Published: a base Transformer's 18,432 n^2 + 62,984,192 n multiply-accumulates for n words in and
// n words out, from its sizes: 18 attentions of 2 n^2 512; 72 products of 512 x 512, 24 of
// 512 x 2048, the vocabulary's 512 x 37,000.
TEST(Formula, TransformerBase) {
  const Case made = NetworkFormula("transformer-base", {}, {{"target", "source"}});
  ASSERT_EQ(made.formula.variables, (std::vector<std::string>{"batch", "source"}));
  Polynomial expected({1, 1}, 62'984'192);
  expected.Add({1, 2}, 18'432);
  EXPECT_EQ(Total(made, "macs"), expected);
  EXPECT_EQ(62'984'192, 72 * 512 * 512 + 24 * 512 * 2048 + 512 * 37'000);
  EXPECT_EQ(18'432, 18 * 2 * 512);
  const auto crossing = std::find_if(made.formula.crossings.begin(), made.formula.crossings.end(),
                                     [](const Crossing& c) { return c.quantity == "macs"; });
  ASSERT_NE(crossing, made.formula.crossings.end());
  EXPECT_EQ(crossing->ratio, Rational(62'984'192) / 18'432);
  EXPECT_NEAR(crossing->at, 3417.11, 0.01);
}

// An encoder layer of width d costs 24 L d^2 + 4 L^2 d FLOPs in products, which are equal at L =
// 6d: width is a variable here like any other, by building the network for each.
TEST(Formula, EncoderLayerInWidthAndLength) {
  const ModelAt two_minus_one = [](const Point& point) {
    const std::string width = std::to_string(64 * point[0]);
    Bindings bindings;
    bindings.dims["sequence"] = point[1];
    return Infer(
        ReadModelFromBytes(BuildNetwork("bert-base", {{"layers", "1"},
                                                      {"width", width},
                                                      {"inner", std::to_string(4 * 64 * point[0])},
                                                      {"heads", "4"}}),
                           "layer"),
        {.bindings = bindings});
  };
  const Formula formula = FindFormula(two_minus_one, {"w", "L"}, {2, 40}, {});
  const Polynomial& macs = formula.Of("macs").total.straight;
  // d = 64 w; the pooler has d^2 more.
  Polynomial expected({2, 1}, 12 * 64 * 64);
  expected.Add({1, 2}, 2 * 64);
  expected.Add({2, 0}, 64 * 64);
  EXPECT_EQ(macs, expected);
  // 24 L d^2 = 4 L^2 d at L = 6 d.
  EXPECT_EQ(2 * macs.Coefficient({2, 1}) / (64 * 64), 24);
  EXPECT_EQ(2 * macs.Coefficient({1, 2}) / 64, 4);
  EXPECT_EQ(macs.Coefficient({2, 1}) / macs.Coefficient({1, 2}), 6 * 64);
}

// A cell whose input is as wide as its state has 8 products of h x h: 16 h^2 FLOPs a step, and the
// projection to the vocabulary as a baseline that no layer changes.
TEST(Formula, LstmCellInWidth) {
  const auto in_layers = [](const std::string& layers) {
    const ModelAt model_at = [=](const Point& point) {
      Bindings bindings;
      bindings.dims["sequence"] = point[1];
      return Infer(ReadModelFromBytes(BuildNetwork("lstm", {{"layers", layers},
                                                            {"hidden", std::to_string(point[0])}}),
                                      "lstm"),
                   {.bindings = bindings});
    };
    return FindFormula(model_at, {"h", "steps"}, {64, 8}, {});
  };
  const Polynomial one = in_layers("1").Of("macs").total.straight;
  const Polynomial two = in_layers("2").Of("macs").total.straight;
  Polynomial cell = two;
  cell.Add(one, -1);
  EXPECT_EQ(cell, Polynomial({2, 1}, 8));
  EXPECT_EQ(one.Coefficient({1, 1}), 10'000);  // the vocabulary
}

TEST(Formula, ConvolutionalNetworksAreLinearInTheBatch) {
  for (const auto& [name, macs] :
       {std::pair<const char*, long>{"alexnet", 714'188'480}, {"resnet50", 4'089'184'256}}) {
    const Case made = NetworkFormula(name);
    EXPECT_EQ(Total(made, "macs"), Polynomial({1}, macs));
    EXPECT_EQ(Total(made, "parameters").Degree(0), 0);
    EXPECT_EQ(Total(made, "bytes.default").Degree(0), 1);
    EXPECT_EQ(made.formula.region.ranges[0][0].from, 1);
  }
}

TEST(Formula, ReferenceNetworksAtRandomSizes) {
  for (std::size_t i = 0; i < Networks().size(); i += kNetworks) {
    const NetworkInfo& network = Networks()[i];
    const Case made = NetworkFormula(network.name);
    for (const FormulaQuantity& quantity : made.formula.quantities) {
      EXPECT_TRUE(quantity.known()) << network.name << " " << quantity.key;
    }
    EXPECT_GT(CompareFormulaWithReports(made, kTries), kTries * 8) << network.name;
  }
}

TEST(Formula, ExportedNetworksAtRandomSizes) {
  const std::filesystem::path root = DLCOST_SOURCE_DIR "/tests/oracle/exported";
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    // Steps have weights among their inputs, and so no batch of all of them.
    const bool step = entry.path().stem().extension() == ".training";
    if (entry.path().extension() == ".onnx" && !step) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  ASSERT_GT(paths.size(), 40u);
  int open = 0;
  for (std::size_t i = 0; i < paths.size(); i += kEvery) {
    const std::filesystem::path& path = paths[i];
    const Case made = FormulaOf(ReadModel(path.string()));
    if (made.formula.variables.empty()) continue;
    ++open;
    for (const FormulaQuantity& quantity : made.formula.quantities) {
      EXPECT_TRUE(quantity.known()) << path << " " << quantity.key;
    }
    EXPECT_GT(CompareFormulaWithReports(made, kTries), kTries * 5) << path;
  }
  EXPECT_GT(open, 40 / kEvery);
}

// A vector has no batch: there is nothing to vary.
TEST(Formula, OfAModelWithoutABatchIsConstant) {
  const Model model = SmallModel().Input("x", {25}).Node("Relu", {"x"}, {"y"}).Output("y").Read();
  EXPECT_TRUE(ModelVariables::Of(model, {}, {}).names().empty());
}

}  // namespace
}  // namespace dlcost
