#include "estimator/compare/evidence.h"

#include <gmock/gmock.h>

#include "estimator/compare/align.h"
#include "estimator/compare/op_family.h"
#include "estimator/compare/runs.h"
#include "estimator/compare/shape_text.h"

namespace dlcost {
namespace {

using enum KernelFamily;

Slot ProductSlot(const std::string& op, KernelFamily family, double flops) {
  Slot slot{.op = op, .family = family, .follows = true, .flops = flops};
  slot.algorithmic = flops;
  return slot;
}

TEST(FamilyOfLabel, TheFirstWordCounts) {
  EXPECT_EQ(FamilyOfLabel("conv (pool1, 64, 192, 5)"), kConvolution);
  EXPECT_EQ(FamilyOfLabel("affine (conv5, 9216, 4096)"), kGemm);
  EXPECT_EQ(FamilyOfLabel("Max pooling 3x3"), kPooling);
  EXPECT_EQ(FamilyOfLabel("average pool"), kPooling);
  EXPECT_EQ(FamilyOfLabel("fc6"), kGemm);
  EXPECT_EQ(FamilyOfLabel("residual"), kUnknown);
  EXPECT_EQ(FamilyOfLabel(""), kUnknown);
}

TEST(SpellsShapeOf, OneDnnProblems) {
  ConvNest conv{.batch = 1, .groups = 1, .in_channels = 3, .out_channels = 64};
  conv.axes = {{.in = 227, .out = 55, .kernel = 11, .stride = 4},
               {.in = 227, .out = 55, .kernel = 11, .stride = 4}};
  const std::string problem = "mb1_ic3oc64_ih227oh55kh11sh4dh0ph0_iw227ow55kw11sw4dw0pw0";
  EXPECT_EQ(SpellsShapeOf("convolution jit:avx2 " + problem, conv), true);
  conv.out_channels = 96;
  EXPECT_EQ(SpellsShapeOf("convolution jit:avx2 " + problem, conv), false);
  EXPECT_EQ(SpellsShapeOf("convolution jit:avx2", conv), std::nullopt);
  const GemmNest gemm{.batch = 1, .m = 128, .n = 37888, .k = 3584};
  EXPECT_EQ(SpellsShapeOf("matmul brg_matmul 128x3584:3584x37888", gemm), true);
  EXPECT_EQ(SpellsShapeOf("matmul brg_matmul 128x3584:3584x64", gemm), false);
  EXPECT_EQ(SpellsShapeOf("matmul brg_matmul 128x3584:3584x37888", conv), std::nullopt);
}

// Launches of AlexNet's summary: 53 runs, 5 convolutions and 3 products; a start-up kernel beside.
TEST(InferRuns, WhatDividesTheProducts) {
  std::vector<Slot> slots;
  for (int i = 0; i < 5; ++i) slots.push_back(ProductSlot("Conv", kConvolution, 250e6));
  for (int i = 0; i < 3; ++i) slots.push_back(ProductSlot("Gemm", kGemm, 40e6));
  const std::vector<FoldedRow> rows = {
      {53, true, 53 * 143e6, std::nullopt},   {53, true, 53 * 472e6, std::nullopt},
      {159, true, 159 * 227e6, std::nullopt}, {106, true, 106 * 55e6, std::nullopt},
      {53, true, 53 * 8e6, std::nullopt},     {265, false, 265 * 1e5, std::nullopt},
      {108, false, 0, std::nullopt}};
  const RunCount count = InferRuns(rows, slots);
  EXPECT_EQ(count.runs, 53);
  EXPECT_EQ(count.from, "53 divides the launches of all products");
  EXPECT_FALSE(count.by_work);
}

TEST(InferRuns, OneKernelsWorkTellsWhatItsLaunchesDoNot) {
  // 34 launches of one name: 1, 2, 17 or 34 runs; its work is that of 17.
  const std::vector<Slot> slots = {ProductSlot("MatMul", kGemm, 1e9),
                                   ProductSlot("MatMul", kGemm, 1e9)};
  EXPECT_EQ(InferRuns({{34, true, 34 * 1.01e9, std::nullopt}}, slots).runs, 17);
  // Launches are not told: as often as the work makes up, and said so.
  const RunCount count = InferRuns({{0, true, 5000 * 2e9, std::nullopt}}, slots);
  EXPECT_EQ(count.runs, 5000);
  EXPECT_TRUE(count.by_work);
}

// Three products of one name, and five of names that tell nothing: launches of all of them are
// multiples of the runs, not only those of the products; work that names do not tell is between.
TEST(InferRuns, KernelsWhoseNamesTellNothingRunAsOftenAsTheModel) {
  std::vector<Slot> slots;
  for (int i = 0; i < 5; ++i) slots.push_back(ProductSlot("Conv", kConvolution, 250e6));
  for (int i = 0; i < 3; ++i) slots.push_back(ProductSlot("Gemm", kGemm, 40e6));
  const auto hidden = [](std::int64_t launches, double flops) {
    return FoldedRow{launches, false, flops, std::nullopt, false, true};
  };
  const RunCount count = InferRuns({{21, true, 21 * 40e6, std::nullopt},
                                    hidden(7, 7 * 250e6),
                                    hidden(28, 28 * 250e6),
                                    hidden(35, 35 * 1e5)},
                                   slots);
  EXPECT_EQ(count.runs, 7);
}

TEST(RepeatsWithin, WhatAllNamesHaveInCommon) {
  const auto rows = [](std::initializer_list<std::int64_t> launches) {
    std::vector<FoldedRow> all;
    for (const std::int64_t count : launches) all.push_back({.launches = count, .product = true});
    return all;
  };
  EXPECT_EQ(RepeatsWithin(rows({4, 8, 12}), 1), 4);
  EXPECT_EQ(RepeatsWithin(rows({4, 8, 12}), 2), 2);
  EXPECT_EQ(RepeatsWithin(rows({4, 8, 13}), 1), 1);
  EXPECT_EQ(RepeatsWithin(rows({4, 8}), 1), 1);  // too few names tell
}

TEST(Align, DepthwiseKernelsRunDepthwiseConvolutions) {
  std::vector<Slot> slots = {ProductSlot("Conv", kConvolution, 1e9),
                             ProductSlot("Conv", kConvolution, 1e9)};
  slots[1].depthwise = true;
  const Item item{.name = "conv_depthwise2d", .family = kConvolution, .depthwise = true};
  EXPECT_EQ(Align(slots, {item}).at(0).slot, 1);
}

TEST(Align, IndependentProductsInAnotherOrder) {
  // The second and the third may run either way round; their counts say which is which.
  std::vector<Slot> slots = {ProductSlot("Conv", kConvolution, 1e9),
                             ProductSlot("Conv", kConvolution, 4e9),
                             ProductSlot("Conv", kConvolution, 1e8)};
  const auto item = [](double flops) {
    return Item{.name = "conv", .family = kConvolution, .flops = flops};
  };
  const std::vector<Item> items = {item(1e9), item(1e8), item(4e9)};
  std::vector<int> slots_of;
  for (const Assignment& to : Align(slots, items)) slots_of.push_back(to.slot);
  EXPECT_THAT(slots_of, testing::ElementsAre(0, 2, 1));
  // One that waits for the other cannot run before it.
  slots[2].after = {1};
  EXPECT_NE(Align(slots, items).at(1).slot, 2);
}

TEST(Align, AKernelWhoseNameTellsNothingMayBeTooFastOrDoTooLittle) {
  std::vector<Slot> slots = {ProductSlot("Conv", kConvolution, 1e9)};
  slots[0].seconds = 2e-4;
  slots[0].least = 1e-4;
  const auto slot_of = [&](const Item& item) { return Align(slots, {item}).at(0).slot; };
  EXPECT_EQ(slot_of({.name = "?", .seconds = 2e-4}), 0);
  EXPECT_EQ(slot_of({.name = "?", .seconds = 1e-5}), -1);
  EXPECT_EQ(slot_of({.name = "?", .seconds = 1e-5, .may_be_tensor = true}), 0);
  EXPECT_EQ(slot_of({.name = "?", .flops = 1e9, .seconds = 2e-4}), 0);
  EXPECT_EQ(slot_of({.name = "?", .flops = 1e5, .seconds = 2e-4}), -1);
  EXPECT_EQ(slot_of({.name = "?", .flops = 1e5, .seconds = 2e-4, .may_be_tensor = true}), 0);
}

TEST(Align, WhatOtherLaunchesOfANameAreThisOneIs) {
  const std::vector<Slot> slots = {ProductSlot("Conv", kConvolution, 1e9)};
  EXPECT_EQ(Align(slots, {{.name = "?"}}).at(0).slot, 0);
  EXPECT_EQ(Align(slots, {{.name = "?", .learnt = kGemm}}).at(0).slot, 0);  // a product
  EXPECT_EQ(Align(slots, {{.name = "?", .learnt = kPooling}}).at(0).slot, -1);
  EXPECT_EQ(Align(slots, {{.name = "?", .learnt = kUnknown}}).at(0).slot, -1);
}

TEST(Align, ARecurrentCellIsNoProduct) {
  const std::vector<Slot> slots = {ProductSlot("MatMul", kGemm, 1e9)};
  EXPECT_EQ(Align(slots, {Item{.name = "elemWiseRNNcell", .family = kRecurrent}}).at(0).slot, -1);
}

TEST(Align, ARangeThatNamesTheNodeSettlesIt) {
  const std::vector<Slot> slots = {ProductSlot("Conv", kConvolution, 1e9),
                                   ProductSlot("Conv", kConvolution, 2e9)};
  const Item item{.name = "conv", .family = kConvolution, .flops = 1e9, .named = 1};
  EXPECT_EQ(Align(slots, {item}).at(0).slot, 1);
}

TEST(Align, LayersOfARecurrentNetworkShareTheirProducts) {
  std::vector<Slot> slots = {ProductSlot("LSTM", kRecurrent, 1e9),
                             ProductSlot("LSTM", kRecurrent, 1e9)};
  for (Slot& slot : slots) slot.several = true;
  std::vector<Item> items;
  for (int layer = 0; layer < 2; ++layer) {
    items.push_back({.name = "input sgemm", .family = kGemm});
    for (int step = 0; step < 8; ++step) items.push_back({.name = "step sgemm", .family = kGemm});
  }
  const std::vector<Assignment> assignments = Align(slots, items);
  for (std::size_t i = 0; i < items.size(); ++i) EXPECT_EQ(assignments[i].slot, i < 9 ? 0 : 1) << i;
}

}  // namespace
}  // namespace dlcost
