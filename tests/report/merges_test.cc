#include "estimator/report/merges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/hardware/database.h"
#include "estimator/onnx/reader.h"
#include "estimator/report/report.h"
#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Merge MergeOf(std::vector<std::string> nodes, double apart, double merged) {
  return {.nodes = std::move(nodes),
          .operand = "x",
          .batch = 1,
          .m = 128,
          .n = 2304,
          .k = 768,
          .apart = Seconds(apart),
          .merged = Seconds(merged)};
}

TEST(MergeTexts, RepeatedLayersAreOne) {
  std::vector<Merge> merges = {MergeOf({"/a", "/b"}, 50e-6, 40e-6)};
  for (const char* layer : {"10", "8", "9"}) {
    const std::string path = std::string("/layer/") + layer;
    merges.push_back(MergeOf({path + "/q", path + "/k"}, 30e-6, 24e-6));
  }
  // 3 times 6 us before once 10 us.
  EXPECT_THAT(MergeTexts(merges),
              ElementsAre("/layer/8..10/q, /layer/8..10/k as one product 128x2304x768: 24.00 us "
                          "instead of 30.00 us, 1.25 times as fast; 3 times",
                          "/a, /b as one product 128x2304x768: 40.00 us instead of 50.00 us, 1.25 "
                          "times as fast"));
}

TEST(MergeTexts, MoreThanThreeAreCounted) {
  std::vector<Merge> merges;
  for (const char* name : {"/a", "/b", "/c", "/d", "/e"}) merges.push_back(MergeOf({name}, 2, 1));
  const std::vector<std::string> texts = MergeTexts(merges);
  ASSERT_EQ(texts.size(), 4u);
  EXPECT_EQ(texts.back(), "and 2 more, which save 2.000 s (--format json)");
}

// A page has more detail than a report, and knows as well as that one which products wait for
// others.
TEST(FindMerges, AreTheSameOfEveryDetail) {
  const std::string root(DLCOST_SOURCE_DIR);
  InferOptions infer;
  AddDimBinding(infer.bindings, "sequence=128");
  const InferredModel model = Infer(ReadModel(root + "/models/networks/bert-base.onnx"), infer);
  const Device device = DeviceDatabase({root + "/hw_specs"}).Find("a100");
  ReportOptions options;
  const Report report = BuildReport(model, device, options);
  options.detail = ReportDetail::kSteps;
  EXPECT_EQ(MergeTexts(BuildReport(model, device, options).merges), MergeTexts(report.merges));
  ASSERT_EQ(MergeTexts(report.merges).size(), 1u);
  EXPECT_THAT(MergeTexts(report.merges)[0],
              HasSubstr("/encoder/0..11/attention/q/MatMul, /encoder/0..11/attention/k/MatMul, "
                        "/encoder/0..11/attention/v/MatMul as one product 128x2304x768"));
}

// Of weights in 8 bits beside halves: apart the products take what the report says of them.
TEST(FindMerges, WeightsHaveTheBytesThatTheyAreStoredIn) {
  constexpr auto kHalf = onnx::TensorProto::FLOAT16;
  SmallModel small = SmallModel().Input("x", {1, 4096}, kHalf).Weight("scale", {}, kHalf);
  for (const std::string name : {"q", "k"}) {
    small.Weight(name, {4096, 4096}, onnx::TensorProto::INT8)
        .Node("DequantizeLinear", {name, "scale"}, {name + "f"})
        .Node("MatMul", {"x", name + "f"}, {name + "y"})
        .Output(name + "y");
  }
  const Device device = DeviceDatabase({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"}).Find("a100");
  const Report report = BuildReport(small.Infer(), device, {});
  ASSERT_EQ(report.merges.size(), 1u);
  Seconds apart(0);
  for (const KernelRow& kernel : report.kernels) apart += kernel.sums.expected.value_or(Seconds(0));
  EXPECT_NEAR(report.merges[0].apart.value(), apart.value(), 0.001 * apart.value());
}

// cuBLAS keeps sums whole on a Hopper where a bias is added: apart the products take what the
// report says of them.
TEST(FindMerges, ProductsAddTheBiasesOfTheirRows) {
  SmallModel small = SmallModel().Input("x", {512, 4096});
  for (const std::string name : {"q", "k", "v"}) {
    small.Weight(name, {4096, 1024}).Weight(name + "b", {1024});
    small.Node("MatMul", {"x", name}, {name + "p"})
        .Node("Add", {name + "p", name + "b"}, {name + "y"});
    small.Output(name + "y");
  }
  const Device device = DeviceDatabase({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"}).Find("h100");
  const Report report = BuildReport(small.Infer(), device, {.plan = {.fusion = Fusion::kDefault}});
  ASSERT_EQ(report.merges.size(), 1u);
  Seconds apart(0);
  for (const KernelRow& kernel : report.kernels) apart += kernel.sums.expected.value_or(Seconds(0));
  ASSERT_EQ(report.kernels.size(), 3u);
  EXPECT_NEAR(report.merges[0].apart.value(), apart.value(), 0.001 * apart.value());
}

}  // namespace
}  // namespace dlcost
