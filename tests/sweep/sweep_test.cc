#include "estimator/sweep/sweep.h"

#include <gtest/gtest.h>

#include "estimator/hardware/database.h"
#include "estimator/infer/infer_once.h"
#include "estimator/infer/retype.h"
#include "estimator/onnx/reader.h"
#include "estimator/sweep/curves.h"
#include "estimator/sweep/power.h"
#include "models/networks/networks.h"

namespace dlcost {
namespace {

Model Network(const std::string& name, const NetworkOptions& options = {}) {
  return ReadModelFromBytes(BuildNetwork(name, options), name);
}

Device FindDevice(const std::string& id) {
  return DeviceDatabase::FromEnvironment(DLCOST_SOURCE_DIR "/hw_specs").Find(id, {});
}

std::vector<SweepPoint> PointsOf(const Sweep& sweep) {
  std::vector<SweepPoint> points;
  RunSweep(sweep, [&](const SweepPoint& point) { points.push_back(point); });
  return points;
}

// Every point against a report that is made for it alone.
void CompareWithReports(const Sweep& sweep, const std::vector<SweepPoint>& points) {
  for (const SweepPoint& point : points) {
    InferOptions options = sweep.infer;
    for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
      if (sweep.axes[a].batch) {
        options.bindings.batch = point.sizes[a];
      } else {
        options.bindings.dims[sweep.axes[a].name] = point.sizes[a];
      }
    }
    InferredModel model = Infer(*Uninferred(*sweep.model), options);
    if (!sweep.setups[point.setup].dtype.empty())
      Retype(model, *ParseDType(sweep.setups[point.setup].dtype));
    const Report report =
        BuildReport(model, sweep.devices[point.device], sweep.setups[point.setup].report);
    EXPECT_EQ(point.macs, report.totals.macs.count());
    EXPECT_EQ(point.flops, report.totals.flops.count());
    EXPECT_EQ(point.bytes, report.totals.bytes().count());
    EXPECT_EQ(point.needed, report.needed().count());
    EXPECT_EQ(point.fits, report.fits());
    ASSERT_TRUE(point.bound);
    EXPECT_NEAR(point.bound->value() / report.totals.bound.value(), 1, 1e-9);
    if (sweep.bounds_only) continue;
    ASSERT_TRUE(point.expected && report.totals.expected);
    EXPECT_NEAR(point.expected->value() / report.totals.expected->value(), 1, 1e-9);
    const std::optional<double> watts =
        ExpectedWatts(sweep.devices[point.device], *report.totals.expected, report.expected_busy);
    ASSERT_TRUE(point.watts && watts);
    EXPECT_NEAR(*point.watts / *watts, 1, 1e-9);
  }
}

TEST(Sweep, PointsAreReports) {
  const Model model = Network("bert-base", {{"layers", "2"}});
  Sweep sweep{.model = &model,
              .axes = {{.name = "batch", .sizes = {1, 3, 16}, .batch = true},
                       {.name = "sequence", .sizes = {1, 2, 100, 512}}},
              .setups = {{}, {.dtype = "f16"}},
              .devices = {FindDevice("a100"), FindDevice("t4")}};
  for (SweepSetup& setup : sweep.setups) setup.report.plan.fusion = Fusion::kDefault;
  const std::vector<SweepPoint> points = PointsOf(sweep);
  ASSERT_EQ(points.size(), 48u);
  EXPECT_EQ(sweep.Points(), 48);
  CompareWithReports(sweep, points);
  EXPECT_EQ(points.back().sizes, (Point{16, 512}));
  EXPECT_EQ(points.back().items, 16);
  EXPECT_EQ(points.back().tokens, 16 * 512);
}

// Enough points for what is shared between them: compiled kernels.
TEST(Sweep, ManyPointsAreReports) {
  for (const char* name : {"bert-base", "lstm", "gpt2"}) {
    const Model model = Network(name, {{"layers", "1"}});
    Sweep sweep{.model = &model,
                .axes = {{.name = "batch", .sizes = {1, 2, 7, 8, 64, 500}, .batch = true},
                         {.name = "sequence", .sizes = {}}},
                .devices = {FindDevice("v100")}};
    for (std::int64_t size = 1; size <= 512; size += 13) sweep.axes[1].sizes.push_back(size);
    sweep.setups[0].report.plan.fusion = Fusion::kDefault;
    CompareWithReports(sweep, PointsOf(sweep));
  }
  const Model model = Network("resnet18");
  Sweep sweep{.model = &model,
              .axes = {{.name = "batch", .sizes = {}, .batch = true}},
              .devices = {FindDevice("a100"), FindDevice("p100")}};
  for (std::int64_t size = 1; size <= 300; size += 3) sweep.axes[0].sizes.push_back(size);
  sweep.setups[0].report.plan.fusion = Fusion::kDefault;
  CompareWithReports(sweep, PointsOf(sweep));
  // Two runtimes, each with kernels of its own.
  sweep.setups.push_back(sweep.setups[0]);
  sweep.setups[1].report.run.launch = Launch::kEager;
  sweep.setups[1].report.plan.fusion = Fusion::kNone;
  const std::vector<SweepPoint> points = PointsOf(sweep);
  ASSERT_EQ(points.size(), 400u);
  EXPECT_EQ(points[2].setup, 1u);
  EXPECT_GT(points[2].bytes, points[0].bytes);
  CompareWithReports(sweep, points);
}

// Bounds in blocks, a table that bends included: 7 * 501 words are fewer than its rows, 500 * 501
// are more.
TEST(Sweep, BoundsAloneAreThoseOfReports) {
  const Model model = Network("bert-base", {{"layers", "1"}});
  Sweep sweep{.model = &model,
              .axes = {{.name = "batch", .sizes = {1, 2, 7, 8, 64, 500}, .batch = true},
                       {.name = "sequence", .sizes = {}}},
              .devices = {FindDevice("a100"), FindDevice("t4")},
              .bounds_only = true};
  for (std::int64_t size = 1; size <= 512; size += 10) sweep.axes[1].sizes.push_back(size);
  for (const CacheState cache : CacheStates()) {
    sweep.setups[0].report.plan.fusion = Fusion::kDefault;
    sweep.setups[0].report.run.cache = cache;
    const std::vector<SweepPoint> points = PointsOf(sweep);
    EXPECT_FALSE(points.front().expected);
    CompareWithReports(sweep, points);
  }
}

// Nobody published what a Gaudi 2 does in fp32: its bound leaves the products out and is no time.
TEST(Sweep, WhatHasNoRateHasNoThroughput) {
  const Model model = Network("bert-base", {{"layers", "1"}});
  Sweep sweep{.model = &model,
              .axes = {{.name = "batch", .sizes = {}, .batch = true}},
              .setups = {{}, {.dtype = "bf16"}},
              .devices = {FindDevice("gaudi2"), FindDevice("a100")}};
  sweep.infer.bindings.dims["sequence"] = 64;
  for (std::int64_t size = 1; size <= 250; ++size) sweep.axes[0].sizes.push_back(size);
  for (SweepSetup& setup : sweep.setups) setup.report.plan.fusion = Fusion::kDefault;
  const std::vector<SweepPoint> points = PointsOf(sweep);
  ASSERT_EQ(points.size(), 1000u);
  for (const SweepPoint& point : points) {
    const bool known = point.device == 1 || point.setup == 1;
    EXPECT_TRUE(point.bound);
    EXPECT_EQ(point.latency().has_value(), known);
    EXPECT_EQ(point.items_per_second().has_value(), known);
    EXPECT_EQ(point.limiter.empty(), !known);
  }
  for (const SweepPoint* point : ParetoFront(points)) EXPECT_TRUE(point->expected);
}

TEST(Sweep, SizesThatTheModelDoesNotTake) {
  const Model model = Network("bert-base", {{"layers", "1"}});
  Sweep sweep{.model = &model, .axes = {{.name = "sequence", .sizes = {512, 513}}}};
  const std::vector<SweepPoint> points = PointsOf(sweep);
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].why_not, "");
  EXPECT_NE(points[1].why_not.find("do not broadcast"), std::string::npos);
  sweep.axes[0].sizes = {513, 514, 512, 515};
  const std::vector<SweepPoint> later = PointsOf(sweep);
  ASSERT_EQ(later.size(), 4u);
  for (const std::size_t i : {0U, 1U, 3U}) EXPECT_NE(later[i].why_not, "") << i;
  EXPECT_EQ(later[2].sizes, Point({512}));
  EXPECT_EQ(later[2].macs, points[0].macs);
  sweep.axes[0].sizes = {513, 514};
  EXPECT_THROW(PointsOf(sweep), Error) << "takes none";
}

SweepPoint PointOfBatch(std::int64_t batch, double seconds, bool fits, const std::string& limiter) {
  return {.sizes = {batch},
          .items = batch,
          .expected = Seconds(seconds),
          .limiter = limiter,
          .fits = fits};
}

// 100, 160, 190, 200 items/s, then more that does not fit.
std::vector<SweepPoint> Curve() {
  return {
      PointOfBatch(1, 1 / 100., true, "launch"), PointOfBatch(2, 2 / 160., true, "device memory"),
      PointOfBatch(4, 4 / 190., true, "device memory"), PointOfBatch(8, 8 / 200., true, "compute"),
      PointOfBatch(16, 16 / 300., false, "compute")};
}

TEST(Curves, SaturationLimitsAndMemory) {
  const Model model;
  const Sweep sweep{.model = &model,
                    .axes = {{.name = "batch", .sizes = {1, 2, 4, 8, 16}, .batch = true}},
                    .devices = {Device{}}};
  const std::vector<SweepPoint> points = Curve();
  const std::vector<SweepCurve> curves = CurvesOf(sweep, points);
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_EQ(curves[0].best->sizes[0], 8);
  EXPECT_EQ(curves[0].saturated->sizes[0], 4);  // 190 of 200
  EXPECT_EQ(curves[0].largest->sizes[0], 8);
  EXPECT_FALSE(curves[0].all_fit);
  EXPECT_FALSE(curves[0].by_tokens);
  EXPECT_TRUE(curves[0].saturates);
  ASSERT_EQ(curves[0].limits.size(), 3u);
  EXPECT_EQ(curves[0].limits[1].from, 2);
  EXPECT_EQ(curves[0].limits[1].to, 4);
}

// Along a length, runs have one item each: throughput is tokens/s. 1000, 1600 and 1900 of them.
TEST(Curves, LengthsAreHeldAgainstEachOtherByTokens) {
  const Model model;
  const Sweep sweep{
      .model = &model, .axes = {{.name = "length", .sizes = {10, 20, 40}}}, .devices = {Device{}}};
  std::vector<SweepPoint> points;
  for (const auto& [length, seconds] : {std::pair{10, 0.01}, {20, 0.0125}, {40, 40 / 1900.0}}) {
    points.push_back(PointOfBatch(length, seconds, true, "compute"));
    points.back().items = 1;
    points.back().tokens = length;
  }
  const std::vector<SweepCurve> curves = CurvesOf(sweep, points);
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_TRUE(curves[0].by_tokens);
  EXPECT_EQ(curves[0].best->sizes[0], 40);
  EXPECT_FALSE(curves[0].saturates);
  points[1].expected = Seconds(20 / 1800.0);
  const std::vector<SweepCurve> saturated = CurvesOf(sweep, points);
  EXPECT_TRUE(saturated[0].saturates);
  EXPECT_EQ(saturated[0].saturated->sizes[0], 20);
}

TEST(Curves, FrontLeavesOutWhatIsSlowerAndNoBetter) {
  std::vector<SweepPoint> points = Curve();
  points.push_back(
      PointOfBatch(3, 3 / 120., true, "compute"));  // slower than 2, with less throughput
  std::vector<std::int64_t> front;
  for (const SweepPoint* point : ParetoFront(points)) front.push_back(point->sizes[0]);
  EXPECT_EQ(front, (std::vector<std::int64_t>{1, 2, 4, 8}));
}

TEST(Curves, Conditions) {
  const SweepPoint point = PointOfBatch(2, 0.0125, true, "compute");  // 160 items/s
  EXPECT_TRUE(ParseCondition("latency<=12.5ms").Meets(point));
  EXPECT_FALSE(ParseCondition("latency<=12ms").Meets(point));
  EXPECT_TRUE(ParseCondition("throughput>=160").Meets(point));
  EXPECT_FALSE(ParseCondition("throughput>=161").Meets(point));
  EXPECT_FALSE(ParseCondition("tokens>=1").Meets(point));  // it has none
  EXPECT_TRUE(ParseCondition("memory<=1MB").Meets(point));
  SweepPoint warm = point;
  warm.watts = 320;  // 2 J per item
  EXPECT_TRUE(ParseCondition("power<=320W").Meets(warm));
  EXPECT_FALSE(ParseCondition("power<=319W").Meets(warm));
  EXPECT_TRUE(ParseCondition("energy<=2000mJ").Meets(warm));
  EXPECT_FALSE(ParseCondition("energy<=1.99J").Meets(warm));
  EXPECT_FALSE(ParseCondition("energy<=5J").Meets(point));  // not known
  for (const char* text : {"energy<=2", "energy<=J", "energy<=0J", "power<=3", "latency",
                           "latency<10ms", "latency<=10", "speed>=3", "throughput>=x"}) {
    EXPECT_THROW(ParseCondition(text), Error) << text;
  }
}

}  // namespace
}  // namespace dlcost
