#include "estimator/compare/align.h"

#include <gmock/gmock.h>

#include "estimator/compare/fold.h"
#include "estimator/core/error.h"

namespace dlcost {
namespace {

using enum KernelFamily;
using ::testing::ElementsAre;

std::vector<int> SlotsOf(const std::vector<Assignment>& assignments) {
  std::vector<int> slots;
  for (const Assignment& assignment : assignments) slots.push_back(assignment.slot);
  return slots;
}

const std::vector<Slot> kSlots = {{"Conv", kConvolution, true, 1e9},
                                  {"Relu", kElementwise, false, 1e6},
                                  {"MaxPool", kPooling, false, 1e6},
                                  {"Conv", kConvolution, true, 4e9},
                                  {"Gemm", kGemm, true, 1e8}};

TEST(Align, HelpersStandAroundTheirConvolution) {
  const std::vector<Item> items = {
      {"nchwToNhwc", kLayout}, {"conv", kConvolution}, {"bias", kElementwise},
      {"relu", kElementwise},  {"max_pool", kPooling}, {"nchwToNhwc", kLayout},
      {"conv", kConvolution},  {"gemm", kGemm},        {"splitK", kEpilogue}};
  EXPECT_THAT(SlotsOf(Align(kSlots, items)), ElementsAre(0, 0, 0, 1, 2, 3, 3, 4, 4));
}

TEST(Align, WhatTheModelLacksStaysOut) {
  const std::vector<Item> items = {{"rand", kRandom},      {"conv", kConvolution},
                                   {"relu", kElementwise}, {"max_pool", kPooling},
                                   {"conv", kConvolution}, {"avg_pool", kPooling},
                                   {"dropout", kDropout},  {"gemm", kGemm}};
  EXPECT_THAT(SlotsOf(Align(kSlots, items)), ElementsAre(-1, 0, 1, 2, 3, -1, -1, 4));
}

TEST(Align, FlopsDecideWhereFamiliesDoNot) {
  // One convolution was measured: which of the two it is, its FLOPs tell.
  EXPECT_THAT(SlotsOf(Align(kSlots, {{"conv", kConvolution, false, 3.9e9}})), ElementsAre(3));
  EXPECT_THAT(SlotsOf(Align(kSlots, {{"conv", kConvolution, false, 1.1e9}})), ElementsAre(0));
  // An unnamed kernel takes the place that its FLOPs fit.
  EXPECT_THAT(SlotsOf(Align(kSlots, {{"?", kUnknown, false, 1.02e9}, {"relu", kElementwise}})),
              ElementsAre(0, 1));
}

TEST(Align, NothingToAlign) {
  EXPECT_THAT(Align({}, {{"conv", kConvolution}}).at(0).slot, -1);
  EXPECT_TRUE(Align(kSlots, {}).empty());
  EXPECT_THROW(Align(std::vector<Slot>(10000), std::vector<Item>(10000)), Error);
}

std::vector<MeasuredKernel> Launches(const std::vector<std::string>& names) {
  std::vector<MeasuredKernel> kernels;
  for (const std::string& name : names) {
    kernels.emplace_back();
    kernels.back().name = name;
    kernels.back().duration = Seconds(static_cast<double>(kernels.size()));
  }
  return kernels;
}

TEST(FoldRuns, WarmUpGoesAndTheRestFoldsToTheMedian) {
  const std::vector<MeasuredKernel> kernels =
      Launches({"init", "sgemm", "relu", "head_sgemm", "sgemm", "relu", "head_sgemm", "sgemm",
                "relu", "head_sgemm"});
  const Folded folded = FoldRuns(kernels, {2, 2, 2});
  EXPECT_EQ(folded.runs, 3);
  EXPECT_EQ(folded.before.size(), 1u);
  ASSERT_EQ(folded.kernels.size(), 3u);
  EXPECT_EQ(folded.kernels[0].name, "sgemm");
  EXPECT_EQ(folded.kernels[0].duration->value(), (5 + 8) / 2.0);  // the first run, at 2, is warm-up
}

TEST(FoldRuns, KernelsOfOthersAnywhereBetween) {
  // Four runs; what stands between them has names that tell nothing, as one of the model's own has.
  const std::vector<MeasuredKernel> kernels =
      Launches({"k_1", "sgemm", "k_own", "head_sgemm", "sgemm", "k_2", "k_own", "head_sgemm", "k_3",
                "k_3", "sgemm", "k_own", "head_sgemm", "sgemm", "k_own", "head_sgemm"});
  const Folded folded = FoldRuns(kernels, {2, 2, 2});
  EXPECT_EQ(folded.runs, 4);
}

TEST(FoldRuns, WhatTakesTheTimeRepeatsToo) {
  // Two equal layers, then one kernel that takes most of the time: one run.
  std::vector<MeasuredKernel> kernels =
      Launches({"k_first", "sgemm_a", "sgemm_b", "cell", "sgemm_b", "cell", "sgemm_a", "sgemm_b",
                "cell", "sgemm_b", "cell", "k_decoder"});
  kernels.back().duration = Seconds(1000);
  EXPECT_EQ(FoldRuns(kernels, {3, 3, 20}).runs, 1);
  kernels.back().duration = Seconds(1);  // no part of the model
  EXPECT_EQ(FoldRuns(kernels, {3, 3, 20}).runs, 2);
}

TEST(FoldRuns, LayersThatRepeatAreNoRuns) {
  // Four equal layers of a product each, in a model with four products: one run.
  const std::vector<MeasuredKernel> kernels =
      Launches({"sgemm", "relu", "sgemm", "relu", "sgemm", "relu", "sgemm", "relu"});
  EXPECT_EQ(FoldRuns(kernels, {4, 4, 4}).runs, 1);
  EXPECT_EQ(FoldRuns(kernels, {2, 2, 2}).runs, 2);
}

}  // namespace
}  // namespace dlcost
