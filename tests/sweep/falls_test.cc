#include "estimator/sweep/falls.h"

#include <gtest/gtest.h>

#include "estimator/hardware/database.h"
#include "estimator/onnx/reader.h"
#include "models/networks/networks.h"

namespace dlcost {
namespace {

SweepPoint PointAtRate(std::int64_t batch, double rate) {
  return {.sizes = {batch}, .items = batch, .expected = Seconds(static_cast<double>(batch) / rate)};
}

// 200 -> 150 is deeper than 100 -> 96; 150 -> 148 is no cliff.
TEST(Falls, DeepestFirst) {
  const Model model;
  const Sweep sweep{.model = &model,
                    .axes = {{.name = "batch", .sizes = {1, 2, 4, 8, 16, 32}, .batch = true}},
                    .devices = {Device{}}};
  const std::vector<SweepPoint> points = {PointAtRate(1, 100),  PointAtRate(2, 96),
                                          PointAtRate(4, 200),  PointAtRate(8, 150),
                                          PointAtRate(16, 148), PointAtRate(32, 300)};
  const std::vector<SweepCurve> curves = CurvesOf(sweep, points);
  ASSERT_EQ(curves.size(), 1u);
  const std::vector<SweepFall> falls = FallsOf(sweep, curves[0], 0);
  ASSERT_EQ(falls.size(), 2u);
  EXPECT_EQ(falls[0].from->sizes, Point{4});
  EXPECT_EQ(falls[0].to->sizes, Point{8});
  EXPECT_DOUBLE_EQ(falls[0].share, 0.25);
  EXPECT_EQ(falls[1].to->sizes, Point{2});
  EXPECT_EQ(falls[0].op, "");
}

// What a fall is put down to is what reports of both sizes say of the kernel.
TEST(Falls, AreExplainedByTheKernelThatGrows) {
  const Model model = ReadModelFromBytes(BuildNetwork("bert-base", {{"layers", "1"}}), "bert-base");
  Sweep sweep{
      .model = &model,
      .axes = {{.name = "batch", .sizes = {}, .batch = true}},
      .devices = {DeviceDatabase::FromEnvironment(DLCOST_SOURCE_DIR "/hw_specs").Find("a100", {})}};
  sweep.infer.bindings.dims["sequence"] = 128;
  sweep.setups[0].report.plan.fusion = Fusion::kDefault;
  for (std::int64_t batch = 1; batch <= 40; ++batch) sweep.axes[0].sizes.push_back(batch);
  std::vector<SweepPoint> points;
  RunSweep(sweep, [&](const SweepPoint& point) { points.push_back(point); });
  const std::vector<SweepFall> falls = FallsOf(sweep, CurvesOf(sweep, points)[0], 2);
  ASSERT_GE(falls.size(), 2u);
  int tiled = 0;
  for (std::size_t i = 0; i < falls.size(); ++i) {
    const SweepFall& fall = falls[i];
    EXPECT_EQ(fall.op.empty(), i >= 2) << i;
    if (fall.op.empty()) continue;
    // The kernel's time per item grows.
    EXPECT_GT(fall.after.time.value() / static_cast<double>(fall.to->items),
              fall.before.time.value() / static_cast<double>(fall.from->items));
    for (const SweepFall::Run* run : {&fall.before, &fall.after}) {
      if (!run->tiles) continue;
      ++tiled;
      EXPECT_EQ(*run->waves, (*run->tiles + 107) / 108);  // an A100 has 108 multiprocessors
    }
  }
  EXPECT_GT(tiled, 0);
}

}  // namespace
}  // namespace dlcost
