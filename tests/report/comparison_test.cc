#include "estimator/report/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/hardware/database.h"
#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Device> Devices(std::vector<std::string> names) {
  const DeviceDatabase database({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"});
  std::vector<Device> devices;
  for (const std::string& name : names) devices.push_back(database.Find(name));
  return devices;
}

// One product of 512 x 4096 x 4096 in fp32: 68.7 MB of weights, 16.8 MB in and out.
InferredModel Product() {
  SmallModel model;
  model.Input("x", {512, 4096})
      .Weight("w", {4096, 4096})
      .Node("MatMul", {"x", "w"}, {"y"})
      .Output("y");
  return model.Infer();
}

std::vector<std::string> IdsOf(const DeviceComparison& comparison) {
  std::vector<std::string> ids;
  for (const DeviceRow& row : comparison.devices) ids.push_back(row.id);
  return ids;
}

TEST(CompareDevices, KeepsTheOrderOrRanks) {
  const std::vector<Device> devices = Devices({"gaudi2", "p4", "h100", "a100"});
  EXPECT_THAT(IdsOf(CompareDevices(Product(), devices, {}, false)),
              ElementsAre("gaudi2", "p4", "h100-sxm5", "a100-sxm4-80gb"));
  const DeviceComparison ranked = CompareDevices(Product(), devices, {}, true);
  EXPECT_THAT(IdsOf(ranked), ElementsAre("h100-sxm5", "a100-sxm4-80gb", "p4", "gaudi2"));
  // No fp32 rate is public for Gaudi2: no time, rather than the memory's share of one.
  EXPECT_FALSE(ranked.devices.back().comparable);
  EXPECT_FALSE(ranked.devices.back().totals.expected.has_value());
  // Where the first one has none, the others still say theirs.
  EXPECT_THAT(ComparisonText(CompareDevices(Product(), devices, {}, false)), HasSubstr("measured"));
}

TEST(CompareDevices, SaysWhatFits) {
  std::vector<Device> devices = Devices({"a100", "p4", "epyc-7763"});
  devices[1].memory.size =
      Bytes(80'000'000);  // less than 67.1 MB of weights and 16.8 MB of activations
  const DeviceComparison comparison = CompareDevices(Product(), devices, {}, false);
  EXPECT_EQ(comparison.needed(), Bytes(4 * (4096 * 4096 + 2 * 512 * 4096)));
  const std::string text = ComparisonText(comparison);
  EXPECT_THAT(text, HasSubstr("yes, 0.1%"));
  EXPECT_THAT(text, HasSubstr("  NO\n"));
  EXPECT_THAT(text, HasSubstr("  ?\n"));  // a socket's memory is not a figure of the CPU
}

TEST(CompareDevices, BoundsAreThoseOfTheReport) {
  const std::vector<Device> devices = Devices({"a100"});
  const DeviceComparison comparison = CompareDevices(Product(), devices, {}, false);
  // 2 * 512 * 4096^2 FLOP at 19.5 TFLOP/s.
  EXPECT_DOUBLE_EQ(comparison.devices[0].totals.bound.value(), 2.0 * 512 * 4096 * 4096 / 19.5e12);
  EXPECT_THAT(ComparisonCsv(comparison), HasSubstr("a100-sxm4-80gb,0.000881"));
  EXPECT_THAT(ComparisonJson(comparison), HasSubstr("\"schema\": \"dlcost.comparison/1\""));
}

TEST(CompareDevices, SaysWhatTimesRestOnAndHowFarTheyReach) {
  const DeviceComparison comparison =
      CompareDevices(Product(), Devices({"a100", "a30", "tpu-v6e", "k80"}), {}, true);
  ASSERT_THAT(IdsOf(comparison), ElementsAre("tpu-v6e", "a100-sxm4-80gb", "a30", "k80"));
  const DeviceRow& tpu = comparison.devices[0];
  EXPECT_EQ(tpu.basis, TimingBasis::kAssumed);
  EXPECT_EQ(comparison.devices[1].basis, TimingBasis::kMeasured);
  EXPECT_EQ(comparison.devices[2].basis, TimingBasis::kInherited);
  for (const DeviceRow& row : comparison.devices) {
    EXPECT_LE(tpu.totals.bound, row.expected_low) << row.id;
    EXPECT_LE(row.expected_low, *row.totals.expected) << row.id;
    EXPECT_GE(row.expected_high, *row.totals.expected) << row.id;
  }
  EXPECT_GE(tpu.expected_high.value(), 1.999 * tpu.totals.expected->value());
  const std::string text = ComparisonText(comparison);
  EXPECT_THAT(text, HasSubstr("expected  "));
  EXPECT_THAT(text, HasSubstr("  assumed  "));
  EXPECT_THAT(text, HasSubstr("  measured  "));
  EXPECT_THAT(text, HasSubstr("no kernel was measured on tpu-v6e or its like"));
  EXPECT_THAT(ComparisonJson(comparison), HasSubstr("\"timing_basis\": \"inherited\""));
  EXPECT_THAT(ComparisonCsv(comparison), HasSubstr(",assumed,\n"));
}

}  // namespace
}  // namespace dlcost
