// What else commands do, from C++: checks under conditions, sweeps over ways of running, what is
// known, and what is fitted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "dlcost/dlcost.h"
#include "tests/api/networks.h"

namespace dlcost::api {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::string Written(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

TEST(CheckUnder, HoldsLimitsAtEverySize) {
  const Model model = ReadNetwork("alexnet");
  const Verdict verdict = CheckUnder(
      model, {.limits = {.max = {"macs=3G"}}, .sizes = {{.batch = true, .list = "1:8:x2"}}});
  EXPECT_FALSE(verdict.passed());
  ASSERT_EQ(verdict.requirements().size(), 1u);
  const Requirement worst = verdict.requirements().front();
  EXPECT_EQ(worst.at, "batch=8");
  EXPECT_EQ(worst.broken_at, (std::vector<std::string>{"batch=8"}));
  EXPECT_EQ(*worst.value, static_cast<double>(Count(model, {}, {.batch = 8}).totals().macs));
  EXPECT_THAT(verdict.Github(), HasSubstr("::error"));
}

TEST(CheckUnder, TakesModelsReportsAndFilesAsBaselines) {
  const Model model = ReadNetwork("alexnet");
  const Report on_t4 = Count(model, FindDevice("t4"));
  for (const Baseline& baseline :
       {Baseline{.path = PathOf("alexnet")}, Baseline{.report = on_t4}, Baseline{.model = model}}) {
    EXPECT_TRUE(CheckUnder(model, {.baselines = {baseline}}).passed());
    EXPECT_TRUE(CheckUnder(on_t4, {.baselines = {baseline}, .device = FindDevice("t4")}).passed());
    EXPECT_FALSE(CheckUnder(ReadNetwork("resnet50"), {.baselines = {baseline}}).passed());
  }
  // What is left open is as the baseline has it.
  EXPECT_THAT(CheckUnder(model, {.baselines = {{.report = on_t4}}}).Text(), HasSubstr("t4"));
  EXPECT_THAT([&] { CheckUnder(model, {}); }, ThrowsMessage<Error>(HasSubstr("nothing to check")));
}

TEST(CheckUnder, ReadsBudgetFilesAndJobs) {
  const std::string budget = Written("budget.yaml",
                                     "on:\n  - gpu: t4\n    batch: 1\n  - gpu: a100\n    batch: 4\n"
                                     "budgets:\n  - metric: macs\n    max: 1 G\n");
  const Verdict verdict = CheckUnder(ReadNetwork("alexnet"), {.budget_file = budget});
  ASSERT_EQ(verdict.requirements().size(), 2u);
  EXPECT_TRUE(verdict.requirements()[0].passed);
  EXPECT_FALSE(verdict.requirements()[1].passed);
  EXPECT_THAT(verdict.requirements()[1].under, HasSubstr("a100"));
  const Verdict job = CheckUnder(ReadNetwork("alexnet"), {.limits = {.max = {"sent_bytes=1 kB"}},
                                                          .options = {.optimizer = "sgd"},
                                                          .system = FindSystem("dgx-1"),
                                                          .plan = "dp=8"});
  EXPECT_FALSE(job.passed());
}

TEST(CompareAs, TakesFromTheReportWhatIsLeftOpen) {
  const Model model = ReadNetwork("alexnet");
  const Report report = Count(model, FindDevice("t4"), {.batch = 4}, {.optimizer = "sgd"});
  EXPECT_TRUE(CompareAs({.report = report}, {.model = model}).changes().empty());
  EXPECT_TRUE(CompareAs({.path = PathOf("alexnet")}, {.report = report}).changes().empty());
  EXPECT_FALSE(CompareAs({.report = report}, {.model = model}, false).notes().empty());
  EXPECT_THROW(CompareAs({.report = report, .device = FindDevice("a100")}, {.model = model}),
               Error);
  // A size of one of them alone.
  const Difference others =
      CompareAs({.model = model, .bindings = {.dims = {{"sequence", 8}}}},
                {.path = PathOf("bert-base"), .bindings = {.dims = {{"sequence", 8}}}});
  EXPECT_FALSE(others.changes().empty());
  EXPECT_THAT(others.Html(), HasSubstr("bert-base"));
}

TEST(Sweeps, ListWaysOfRunning) {
  const Sweep sweep =
      RunSweep(ReadNetwork("alexnet"), {.axes = {{.batch = true, .list = "1:4:x2"}},
                                        .devices = FindDevices("a100,t4", {"memory.size=1GB,80GB"}),
                                        .runtimes = {"pytorch-eager", "tensorrt"},
                                        .optimizers = {"", "sgd"},
                                        .conditions = {"latency<=1s"},
                                        .rank = "price",
                                        .price_per_hour = {{"a100", 2}, {"", 1}}});
  const std::vector<SweepPoint> points = sweep.points();
  EXPECT_EQ(points.size(), 3u * 4 * 2 * 2);
  EXPECT_EQ(points.back().runtime, "tensorrt");
  EXPECT_EQ(points.back().optimizer, "sgd");
  EXPECT_THAT(points.front().device, HasSubstr("memory.size=1GB"));
  const std::vector<SweepPoint> best = sweep.best();
  ASSERT_FALSE(best.empty());
  for (std::size_t i = 1; i < best.size(); ++i) {
    EXPECT_LE(*best[i - 1].price_per_million_items, *best[i].price_per_million_items);
  }
  EXPECT_THAT(sweep.Svg(), HasSubstr("<svg"));
}

TEST(Sweeps, PadObservedSizes) {
  const Axis lengths{.name = "sequence", .sizes = {200, 32, 100, 32}, .weights = {1, 2, 3, 3}};
  const Sweep sweep = RunSweep(ReadNetwork("bert-base"), {.axes = {lengths},
                                                          .devices = {FindDevice("t4")},
                                                          .bindings = {.batch = 2},
                                                          .buckets = {128, 256}});
  std::vector<std::int64_t> sizes;
  for (const SweepPoint& point : sweep.points()) sizes.push_back(point.sizes.front());
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{32, 100, 128, 200, 256}));
  EXPECT_THAT(sweep.Json(), HasSubstr("distributions"));
}

TEST(Sweeps, LeaveOutDevicesThatARuntimeDoesNotServe) {
  const SweepRequest request{.devices = Devices(), .runtimes = {"tensorrt"}, .served_alone = true};
  const Sweep sweep = RunSweep(ReadNetwork("alexnet"), request);
  EXPECT_LT(sweep.points().size(), request.devices.size());
  EXPECT_GT(sweep.points().size(), 0u);
  EXPECT_THAT(sweep.Text(), HasSubstr("are left out"));
}

TEST(Reports, HaveEveryView) {
  const Report report = Count(ReadNetwork("alexnet"), FindDevice("t4"));
  EXPECT_THAT(report.View("gemm"), HasSubstr("tile"));
  EXPECT_THAT(report.View("work", "/conv1/Conv"), HasSubstr("runner-up"));
  EXPECT_THAT(report.Text("story"), HasSubstr("conv + relu"));
  EXPECT_THAT(report.Perfetto(), HasSubstr("traceEvents"));
  EXPECT_THAT(report.Speedscope(), HasSubstr("speedscope"));
  EXPECT_EQ(Count(Model::FromBytes(report.AnnotatedModel(), "annotated")).totals().macs,
            report.totals().macs);
  EXPECT_THAT([&] { Report::FromJson(report.Json(), "read").AnnotatedModel(); },
              ThrowsMessage<Error>(HasSubstr("count the file itself")));
}

TEST(CompareDevices, RanksThem) {
  const Model model = ReadNetwork("alexnet");
  EXPECT_THAT(CompareDevices(model, {FindDevice("t4"), FindDevice("a100")}).Csv(),
              HasSubstr("a100-sxm4-80gb"));
  EXPECT_NE(CompareDevices(model, Devices(), {}, {}, true, 3).Text(),
            CompareDevices(model, Devices(), {}, {}, true, 4).Text());
  EXPECT_THROW(CompareDevices(model, {}), Error);
}

TEST(Devices, AreFiltered) {
  for (const Device& device : Devices({.vendor = "amd", .kind = "gpu", .sort = "memory"})) {
    EXPECT_EQ(device.vendor, "AMD");
  }
  EXPECT_THROW(Devices({.kind = "gpuu"}), Error);
}

TEST(Inputs, AreBoundByTheSlowestStage) {
  const InputBounds bounds = BoundInput({.input = {.item_bytes = 1000, .storage_bytes_per_s = 5e6},
                                         .devices = 4,
                                         .compute_flops_per_s = 1e12,
                                         .flops_per_item = 1e9});
  ASSERT_EQ(bounds.stages().size(), 2u);
  EXPECT_EQ(bounds.stages()[0].items_per_s, 5000);
  EXPECT_EQ(bounds.stages()[1].items_per_s, 4000);
  EXPECT_EQ(bounds.bound_by(), "compute");
  EXPECT_EQ(bounds.items_per_s(), 4000);
  EXPECT_THROW(BoundInput({}), Error);
}

TEST(Fits, TellTheoryFromMeasurement) {
  const std::string runs = Written("runs.csv", "layers,flops\n1,110\n2,210\n3,310\n4,410\n");
  const FittedRuns fitted =
      FitRuns({.path = runs, .x = "layers", .y = "flops", .expected = {{1, 50}}});
  ASSERT_EQ(fitted.terms().size(), 2u);
  EXPECT_NEAR(fitted.terms()[0].value, 100, 1e-9);
  EXPECT_NEAR(fitted.terms()[1].value, 10, 1e-9);
  EXPECT_NEAR(*fitted.terms()[0].ratio, 2, 1e-9);
  EXPECT_EQ(fitted.runs(), 4);
  EXPECT_THROW(FitRuns({.path = runs, .x = "layers", .y = "flops", .terms = {9}}), Error);
}

TEST(Calibrations, FitConstants) {
  const CalibrationRequest request{
      .devices = {"h100-sxm5", "h200-nvl", "h200-sxm", "gh200-144gb"},
      .tables = {DLCOST_SOURCE_DIR "/bench/published/matrix_products.csv"},
      .fixed = {"launch.graph"},
      .fit_share = 1,
      .iterations = 5};
  const CalibratedTiming timing = Calibrate(request);
  EXPECT_EQ(timing.devices, request.devices);
  EXPECT_EQ(timing.fitted.rows, 20u);
  EXPECT_EQ(timing.held_out.rows, 0u);
  EXPECT_LT(timing.fitted.mean, 0.1);
  EXPECT_THAT(timing.yaml, HasSubstr("timing:\n"));
  ASSERT_FALSE(timing.constants.empty());
  for (const CalibratedConstant& constant : timing.constants) {
    EXPECT_NE(constant.name, "launch.graph");
    EXPECT_GT(constant.value, 0) << constant.name;
  }
  EXPECT_THAT([] { Calibrate({.devices = {"t4"}, .tables = {"/nonexistent.csv"}}); },
              ThrowsMessage<Error>(HasSubstr("nonexistent")));
}

TEST(Knowledge, IsThatOfTheProgram) {
  const Runtime runtime = FindRuntime("TRT");
  EXPECT_EQ(runtime.id, "tensorrt");
  EXPECT_FALSE(runtime.parts.empty());
  EXPECT_THAT(RuntimesText(), HasSubstr("tensorrt"));
  const std::vector<Operator> operators = Operators("ai.onnx");
  const auto conv = std::find_if(operators.begin(), operators.end(),
                                 [](const Operator& one) { return one.name == "Conv"; });
  ASSERT_NE(conv, operators.end());
  EXPECT_EQ(conv->versions, (std::vector<int>{1, 11, 22}));
  EXPECT_EQ(conv->derivative, "a rule");
  EXPECT_THAT(OperatorText("Conv"), HasSubstr(conv->formula));
  EXPECT_THROW(Operators("x"), Error);
  const std::string bytes = BuildNetwork("gpt2", {{"layers", "2"}});
  EXPECT_GT(Model::FromBytes(bytes, "gpt2").nodes(), 10u);
  EXPECT_THAT([] { BuildNetwork("resnet5"); }, ThrowsMessage<Error>(HasSubstr("resnet50")));
  const std::vector<api::Network> networks = Networks();
  EXPECT_TRUE(std::any_of(networks.begin(), networks.end(),
                          [](const api::Network& one) { return one.name == "gpt2"; }));
}

}  // namespace
}  // namespace dlcost::api
