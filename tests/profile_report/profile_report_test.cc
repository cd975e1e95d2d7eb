#include "estimator/profile_report/profile_report.h"

#include <gmock/gmock.h>

#include "estimator/hardware/database.h"
#include "estimator/profile_report/device_name.h"
#include "estimator/profile_report/tables.h"

namespace dlcost {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

MeasuredKernel Row(const std::string& name, std::int64_t launches, std::optional<double> us,
                   std::vector<Counter> counters = {}) {
  MeasuredKernel row;
  row.name = name;
  row.launches = launches;
  if (us) row.duration = Seconds(*us * 1e-6);
  row.counters = std::move(counters);
  return row;
}

Counter F32(double flops) { return {Metric::kFlopsF32, flops, {"flop_count_sp"}}; }

ProfileReport ReportOf(std::vector<MeasuredKernel> rows, const Device* device = nullptr) {
  Measurement measurement;
  measurement.path = "profile";
  for (MeasuredKernel& row : rows) measurement.Add(std::move(row));
  return BuildProfileReport(measurement, {.device = device});
}

Device Find(const std::string& name) {
  return DeviceDatabase({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"}).Find(name);
}

TEST(ProfileReport, SumsAreOverLaunches) {
  const ProfileReport report = ReportOf({Row("a", 3, 2, {F32(100)}), Row("a", 1, 4, {F32(40)})});
  ASSERT_EQ(report.by_name.size(), 1u);
  EXPECT_EQ(report.by_name[0].launches(), 4);
  EXPECT_DOUBLE_EQ(report.by_name[0].Time()->value, 10e-6);
  EXPECT_EQ(report.by_name[0].Flops()->value, 340);
  EXPECT_TRUE(report.by_name[0].Flops()->whole);
  EXPECT_DOUBLE_EQ(*report.by_name[0].FlopRate(), 34e6);
  EXPECT_EQ(report.by_name[0].Bytes(), std::nullopt);
  EXPECT_EQ(report.by_name[0].Intensity(), std::nullopt);
  // Equal work is one dot; these two are not of equal work.
  EXPECT_EQ(report.kernels.size(), 2u);
}

TEST(ProfileReport, WhatSomeLaunchesDoNotTellIsALowerBound) {
  const ProfileReport report = ReportOf({Row("a", 1, 2, {F32(100)}), Row("a", 1, 4)});
  EXPECT_EQ(report.by_name[0].Flops()->value, 100);
  EXPECT_FALSE(report.by_name[0].Flops()->whole);
  EXPECT_DOUBLE_EQ(*report.by_name[0].FlopRate(), 50e6);  // of the launch that tells both
  EXPECT_EQ(CellText({100, false}, ProfileField::kFlops), "\u2265 100");
}

TEST(ProfileReport, MeansWeighByTime) {
  const auto row = [](double us, double occupancy) {
    return Row("a", 1, us, {{Metric::kOccupancy, occupancy, {"achieved_occupancy"}}});
  };
  EXPECT_DOUBLE_EQ(*ReportOf({row(1, 0.2), row(3, 0.6)}).by_name[0].Mean(Metric::kOccupancy), 0.5);
  MeasuredKernel untimed = row(1, 0.6);
  untimed.duration.reset();
  EXPECT_DOUBLE_EQ(*ReportOf({row(1, 0.2), untimed}).by_name[0].Mean(Metric::kOccupancy), 0.4);
}

TEST(ProfileReport, TypesRunAtTheirOwnPeaks) {
  const Device a100 = Find("a100");
  // 19.5 TFLOP/s in fp32, 9.7 in fp64: 1 us and 1 us of 4.
  const ProfileReport report = ReportOf(
      {Row("a", 1, 4, {F32(19'500'000), {Metric::kFlopsF64, 9'700'000, {"flop_count_dp"}}})},
      &a100);
  EXPECT_NEAR(*report.kernels[0].ComputeShare(), 0.5, 1e-12);
  // A table's FLOPs are of no type that it tells.
  EXPECT_EQ(ReportOf({Row("a", 1, 4, {{Metric::kFlops, 1e6, {"flops"}}})}, &a100)
                .kernels[0]
                .ComputeShare(),
            std::nullopt);
}

TEST(ProfileReport, KindsAreKeptApart) {
  MeasuredKernel call = Row("cudaMalloc", 1, 100), copy = Row("[CUDA memcpy HtoD]", 2, 50);
  call.kind = MeasuredKind::kApi;
  copy.kind = MeasuredKind::kCopy;
  const ProfileReport report = ReportOf({Row("a", 1, 5), call, copy});
  EXPECT_DOUBLE_EQ(report.kernels_total.Time()->value, 5e-6);
  EXPECT_DOUBLE_EQ(report.copies_total.Time()->value, 100e-6);
  EXPECT_DOUBLE_EQ(report.calls_total.Time()->value, 100e-6);
  EXPECT_EQ(report.by_name.size(), 1u);
}

TEST(ProfileReport, TheTailIsWhatTakesLessThanALaunch) {
  const ProfileReport report = ReportOf({Row("a", 3, 4), Row("b", 1, 88)});
  ASSERT_TRUE(report.tail);
  EXPECT_EQ(report.tail->launches, 3);
  EXPECT_EQ(report.tail->of_launches, 4);
  EXPECT_DOUBLE_EQ(report.tail->time.value(), 12e-6);
  EXPECT_DOUBLE_EQ(report.tail->of_time.value(), 100e-6);
  EXPECT_FALSE(ReportOf({Row("a", 3, 4), Row("b", 1, std::nullopt)}).tail);
}

TEST(Activity, StreamsOverlapAndProcessesDoNot) {
  const auto at = [](std::int64_t start_ns, double us, std::int64_t process) {
    MeasuredKernel row = Row("k", 1, us);
    row.start_ns = start_ns;
    row.process = process;
    return row;
  };
  const ProfileReport report = ReportOf(
      {at(0, 10, 1), at(5'000, 10, 1), at(20'000, 1, 1), at(1'000'000, 1, 2), at(1'003'000, 1, 2)});
  ASSERT_EQ(report.activity.size(), 2u);
  EXPECT_DOUBLE_EQ(report.activity[0].span.value(), 21e-6);
  EXPECT_DOUBLE_EQ(report.activity[0].idle.value(), 5e-6);
  EXPECT_EQ(report.activity[0].launch_bound, 1);
  EXPECT_DOUBLE_EQ(report.activity[1].idle.value(), 2e-6);
  // A kernel without a start has a place on no timeline.
  EXPECT_TRUE(ReportOf({at(0, 10, 1), Row("k", 1, 5)}).activity.empty());
}

TEST(DeviceName, ModelsAreCompared) {
  const Device p4 = Find("p4"), a100 = Find("a100");
  EXPECT_TRUE(MayBe("Tesla P4 (0)", p4));
  EXPECT_FALSE(MayBe("Tesla P40 (0)", p4));
  EXPECT_TRUE(MayBe("NVIDIA A100-SXM4-80GB (0)", a100));
  EXPECT_FALSE(MayBe("NVIDIA H100-SXM5-80GB (0)", a100));
  EXPECT_TRUE(MayBe("0", a100));
  EXPECT_TRUE(MayBe("GeForce GTX TIT", a100));
  EXPECT_TRUE(MayBe("", a100));
  EXPECT_THAT(ReportOf({[] {
                         MeasuredKernel row = Row("a", 1, 5);
                         row.device = "Tesla P4 (0)";
                         return row;
                       }()},
                       &a100)
                  .notes,
              ElementsAre(HasSubstr("measured on 'Tesla P4 (0)', held against NVIDIA A100")));
}

}  // namespace
}  // namespace dlcost
