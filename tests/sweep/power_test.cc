#include "estimator/sweep/power.h"

#include <gtest/gtest.h>

#include "estimator/hardware/database.h"
#include "estimator/onnx/reader.h"
#include "estimator/sweep/sweep.h"
#include "models/networks/networks.h"

namespace dlcost {
namespace {

TEST(Power, BetweenIdleAndRated) {
  Device device;
  EXPECT_FALSE(ExpectedWatts(device, Seconds(1), Seconds(1)));
  device.power = Watts(400);
  EXPECT_DOUBLE_EQ(*ExpectedWatts(device, Seconds(2), Seconds(2)), 400);
  EXPECT_DOUBLE_EQ(*ExpectedWatts(device, Seconds(2), Seconds(0)), 400 * kIdlePower);
  EXPECT_DOUBLE_EQ(*ExpectedWatts(device, Seconds(2), Seconds(1)), 400 * (1 + kIdlePower) / 2);
  EXPECT_FALSE(ExpectedWatts(device, Seconds(0), Seconds(0)));
}

// Kernels that a framework calls one by one leave the board waiting where they are short.
TEST(Power, AWaitingBoardDrawsLess) {
  const Model model = ReadModelFromBytes(BuildNetwork("resnet18", {}), "resnet18");
  Sweep sweep{.model = &model,
              .axes = {{.name = "batch", .sizes = {1, 256}, .batch = true}},
              .setups = {{}, {}},
              .devices = {DeviceDatabase::FromEnvironment(DLCOST_SOURCE_DIR "/hw_specs")
                              .Find("a100-sxm4-80gb", {})}};
  for (SweepSetup& setup : sweep.setups) setup.report.plan.fusion = Fusion::kDefault;
  sweep.setups[1].report.run.launch = Launch::kEager;
  std::vector<SweepPoint> points;
  RunSweep(sweep, [&](const SweepPoint& point) { points.push_back(point); });
  ASSERT_EQ(points.size(), 4u);
  const double small_graph = *points[0].watts, small_eager = *points[1].watts,
               large_eager = *points[3].watts;
  EXPECT_LT(small_eager, small_graph);
  EXPECT_GT(large_eager, 0.95 * 400);
  for (const SweepPoint& point : points) {
    EXPECT_GT(*point.watts, kIdlePower * 400);
    EXPECT_LE(*point.watts, 400);
    EXPECT_DOUBLE_EQ(*point.joules_per_item(),
                     *point.watts * point.expected->value() / static_cast<double>(point.items));
  }
}

}  // namespace
}  // namespace dlcost
