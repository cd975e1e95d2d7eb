#include "estimator/profiles/add_counters.h"

#include <gtest/gtest.h>

#include "tests/profiles/fixture.h"

namespace dlcost {
namespace {

MeasuredKernel Kernel(const std::string& name, std::optional<double> flops,
                      std::int64_t launches = 1) {
  MeasuredKernel kernel;
  kernel.name = name;
  kernel.launches = launches;
  if (flops) kernel.counters.push_back({Metric::kFlopsF32, *flops, {"flop_count_sp"}});
  return kernel;
}

Measurement File(std::vector<MeasuredKernel> kernels) {
  Measurement measurement;
  measurement.kernels = std::move(kernels);
  return measurement;
}

std::vector<double> FlopsOf(const Measurement& measurement) {
  std::vector<double> flops;
  for (const MeasuredKernel& kernel : measurement.kernels)
    flops.push_back(kernel.VectorFlops().value_or(-1));
  return flops;
}

TEST(FunctionName, WithoutTypeNamespacesAndArguments) {
  EXPECT_EQ(FunctionName("void at::native::(anonymous namespace)::max_pool<float>(int, float*)"),
            "max_pool");
  EXPECT_EQ(FunctionName("ampere_sgemm_128x64_tn"), "ampere_sgemm_128x64_tn");
  EXPECT_EQ(FunctionName("cudnn::ops::nchwToNhwcKernel<float>"), "nchwToNhwcKernel");
  EXPECT_EQ(FunctionName("void (anonymous namespace)::softmax<float>"), "softmax");
  EXPECT_EQ(FunctionName("<>"), "<>");
}

// Two runs in the trace, one counted: the same launches in the same order.
TEST(AddCounters, RunsRepeatTheCounters) {
  Measurement trace = File({Kernel("a", {}), Kernel("b", {}), Kernel("a", {}), Kernel("a", {}),
                            Kernel("b", {}), Kernel("a", {})});
  const AddedCounters added =
      AddCounters(trace, File({Kernel("a", 1), Kernel("b", 10), Kernel("a", 2)}));
  EXPECT_EQ(FlopsOf(trace), (std::vector<double>{1, 10, 2, 1, 10, 2}));
  EXPECT_EQ(added.launches, 6);
  EXPECT_EQ(added.of, 6);
  EXPECT_EQ(added.left_over, 0);
}

TEST(AddCounters, NamesMayBeCutToTheFunction) {
  Measurement trace = File({Kernel("void ns::f<float>(int)", {}), Kernel("void g<2>()", {})});
  AddCounters(trace, File({Kernel("f", 5), Kernel("g", 7)}));
  EXPECT_EQ(FlopsOf(trace), (std::vector<double>{5, 7}));
}

TEST(AddCounters, GridsTellLaunchesOfOneNameApart) {
  const auto sized = [](MeasuredKernel kernel, std::int64_t grid) {
    kernel.grid = {grid, 1, 1};
    kernel.block = {128, 1, 1};
    return kernel;
  };
  Measurement trace = File({sized(Kernel("a", {}), 8), sized(Kernel("a", {}), 4)});
  AddCounters(trace, File({sized(Kernel("a", 40), 4), sized(Kernel("a", 80), 8)}));
  EXPECT_EQ(FlopsOf(trace), (std::vector<double>{80, 40}));
}

TEST(AddCounters, SumsGiveTheirMean) {
  Measurement trace = File({Kernel("a", {}), Kernel("a", {})});
  AddCounters(trace, File({Kernel("a", 6, 5), Kernel("a", 12, 10)}));
  EXPECT_EQ(FlopsOf(trace), (std::vector<double>{10, 10}));
}

// Three launches against two: nobody knows which is which.
TEST(AddCounters, NoWholeRunsNoCounters) {
  Measurement trace = File({Kernel("a", {}), Kernel("a", {}), Kernel("a", {}), Kernel("b", {})});
  const AddedCounters added =
      AddCounters(trace, File({Kernel("a", 1), Kernel("a", 2), Kernel("b", 3), Kernel("c", 4)}));
  EXPECT_EQ(FlopsOf(trace), (std::vector<double>{-1, -1, -1, 3}));
  EXPECT_EQ(added.launches, 1);
  EXPECT_EQ(added.left_over, 3);
}

TEST(AddCounters, WhatTheTraceCountedStays) {
  Measurement trace = File({Kernel("a", 3)});
  trace.kernels[0].kind = MeasuredKind::kKernel;
  AddCounters(trace, File({Kernel("a", 4)}));
  EXPECT_EQ(FlopsOf(trace), (std::vector<double>{3}));
}

}  // namespace
}  // namespace dlcost
