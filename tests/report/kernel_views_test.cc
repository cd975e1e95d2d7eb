#include "estimator/report/kernel_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "estimator/hardware/database.h"
#include "estimator/onnx/reader.h"
#include "estimator/report/render.h"

namespace dlcost {
namespace {

using testing::HasSubstr;

Report NetworkReport(const std::string& network, const std::string& device, std::int64_t batch = 1,
                     const std::vector<std::string>& dims = {}, Fusion fusion = Fusion::kDefault) {
  const std::string root(DLCOST_SOURCE_DIR);
  InferOptions infer;
  infer.bindings.batch = batch;
  for (const std::string& dim : dims) AddDimBinding(infer.bindings, dim);
  const InferredModel model = Infer(ReadModel(root + "/models/networks/" + network), infer);
  ReportOptions options;
  options.plan.fusion = fusion;
  std::optional<Device> found;
  if (!device.empty()) found = DeviceDatabase({root + "/hw_specs"}).Find(device);
  return BuildReport(model, found, options);
}

TEST(WorkView, ShowsWhereTheRatioComesFrom) {
  const Report report = NetworkReport("alexnet.onnx", "p4");
  const std::string text = RenderWorkView(report, "/conv1/Conv");
  EXPECT_THAT(text, HasSubstr("row padding 3025 -> 3072"));
  EXPECT_THAT(text, HasSubstr("k padding 363 -> 364"));
  EXPECT_THAT(text, HasSubstr("flop_count_sp 143717440"));
  EXPECT_THAT(text, HasSubstr("executed / algorithmic 1.02251"));
  EXPECT_THROW(RenderWorkView(report, "/conv1/Conf"), Error);
  EXPECT_THROW(RenderWorkView(NetworkReport("alexnet.onnx", "")), Error);
}

TEST(GemmView, WithAndWithoutADevice) {
  const std::string plain = RenderGemmView(NetworkReport("alexnet.onnx", ""));
  EXPECT_THAT(plain, HasSubstr("3025"));
  EXPECT_EQ(plain.find("waves"), std::string::npos);
  const std::string tiled = RenderGemmView(NetworkReport("alexnet.onnx", "a100", 128));
  EXPECT_THAT(tiled, HasSubstr("waves"));
  EXPECT_THAT(tiled, HasSubstr("32x32x32 split 6"));
}

TEST(Json, KernelsCarryTheirExecution) {
  const auto json = nlohmann::json::parse(RenderJson(NetworkReport("alexnet.onnx", "p4")));
  const auto& conv = json["kernels"][0];
  EXPECT_EQ(conv["label"], "conv + relu");
  EXPECT_EQ(conv["gemm"]["m"], 3025);
  EXPECT_EQ(conv["gemm"]["k"], 363);
  std::int64_t flops = 0;
  for (const auto& term : conv["executed"]) {
    flops += 2 * term["fma"].get<std::int64_t>() + term["add"].get<std::int64_t>() +
             term["mul"].get<std::int64_t>();
  }
  EXPECT_EQ(flops, 143717440);
}

// An encoder of width d with a feed-forward of 4 d: scores equal the rest at 6 d.
TEST(Attention, CrossoverOfBertIsSixTimesItsWidth) {
  const Report report = NetworkReport("bert-base.onnx", "", 1, {"sequence=128"});
  ASSERT_TRUE(report.attention);
  EXPECT_NEAR(report.attention->Crossover(), 6 * 768, 6 * 768 * 0.01);
  EXPECT_EQ(report.attention->phase, SequencePhase::kPrefill);
  const Report longer = NetworkReport("bert-base.onnx", "", 1, {"sequence=512"});
  EXPECT_NEAR(longer.attention->scores.AsDouble() / report.attention->scores.AsDouble(), 16, 1e-9);
}

TEST(Fusion, ChangesTrafficAndNeverWork) {
  const Report none = NetworkReport("resnet50.onnx", "v100", 1, {}, Fusion::kNone);
  const Report fused = NetworkReport("resnet50.onnx", "v100");
  const Report ideal = NetworkReport("resnet50.onnx", "v100", 1, {}, Fusion::kIdeal);
  EXPECT_EQ(none.totals.flops, fused.totals.flops);
  EXPECT_EQ(none.totals.flops, ideal.totals.flops);
  EXPECT_GT(none.totals.bytes(), fused.totals.bytes());
  EXPECT_GT(fused.totals.bytes(), ideal.totals.bytes());
  // Compulsory: the image, every parameter and the result.
  EXPECT_EQ(ideal.totals.bytes(), none.model.weight_bytes + Bytes(4 * (3 * 224 * 224 + 1000)));
}

}  // namespace
}  // namespace dlcost
