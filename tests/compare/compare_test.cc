#include "estimator/compare/compare.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "estimator/compare/compare_table.h"
#include "estimator/core/error.h"
#include "estimator/hardware/database.h"
#include "estimator/infer/infer.h"
#include "estimator/onnx/reader.h"
#include "tests/profiles/fixture.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;

const std::string kSource = DLCOST_SOURCE_DIR;

std::optional<Device> FindDevice(const std::string& id) {
  return DeviceDatabase({kSource + "/hw_specs"}).Find(id);
}

struct Predicted {
  InferredModel model;
  std::optional<Device> device;
  Report report;
};

Predicted Predict(const std::string& network, std::int64_t batch, const std::string& device) {
  InferOptions options;
  options.bindings.batch = batch;
  Predicted predicted{
      Infer(ReadModel(kSource + "/models/networks/" + network), options), FindDevice(device), {}};
  predicted.report = BuildReport(predicted.model, predicted.device, {});
  return predicted;
}

Comparison CompareFiles(const Predicted& predicted, const std::vector<Measurement>& measured,
                        const std::vector<Measurement>& traces = {}) {
  return Compare(predicted.report, measured, traces, predicted.device);
}

const CompareRow& Row(const Comparison& comparison, const std::string& node) {
  for (const CompareRow& row : comparison.rows) {
    if (row.node == node) return row;
  }
  throw std::runtime_error("no row " + node);
}

// nvprof on a Tesla P4, cuDNN 6, batch 1: the published ratios of executed to algorithmic FLOPs.
TEST(Compare, AlexNetOnP4ToTheDigit) {
  const Predicted predicted = Predict("alexnet.onnx", 1, "p4");
  const Comparison c = CompareFiles(predicted, {ReadFixture("alexnet_p4_nvprof_metrics.csv")});
  struct Layer {
    const char *node, *ratio, *why;
    std::int64_t algorithmic;
  };
  const Layer kLayers[] = {{"/conv1/Conv", "1.02251", "padding +1.8 %", 140553600},
                           {"/conv2/Conv", "1.054469", "padding +5.3 %", 447897600},
                           {"/conv3/Conv", "0.723059", "Winograd F(2x2, 3x3)", 224280576},
                           {"/conv4/Conv", "0.720833", "Winograd F(2x2, 3x3)", 299040768},
                           {"/conv5/Conv", "0.721946", "Winograd F(2x2, 3x3)", 199360512},
                           {"/fc6/Gemm", "1.019748", "reduction +", 75497472},
                           {"/fc7/Gemm", "1.02002", "reduction +", 33554432},
                           {"/fc8/Gemm", "1.040289", "reduction +", 8192000}};
  ASSERT_EQ(c.rows.size(), 8u);
  EXPECT_TRUE(c.unmatched_kernels.empty());
  for (std::size_t i = 0; i < c.rows.size(); ++i) {
    EXPECT_EQ(c.rows[i].node, kLayers[i].node);
    EXPECT_EQ(c.rows[i].algorithmic.value(), kLayers[i].algorithmic);
    EXPECT_EQ(RatioText(c.rows[i].flops_ratio), kLayers[i].ratio);
    EXPECT_THAT(c.rows[i].why, HasSubstr(kLayers[i].why));
    EXPECT_GE(c.rows[i].measured.confidence, 0.7);
  }
  // What was measured is in the rows or in the list of kernels without one.
  EXPECT_EQ(c.totals.measured_flops, 1257402299);
  EXPECT_EQ(c.totals.unmatched_flops, std::nullopt);
  EXPECT_EQ(RowsOutside(c, 0.8, 1.25).size(), 3u);
  EXPECT_TRUE(RowsOutside(c, 0.7, 1.1).empty());
}

class PublicAlexNet : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::is_directory(folder_))
      GTEST_SKIP() << "no folder " << folder_ << " beside the sources";
  }
  const std::string folder_ = kSource + "/../shared/profiles";
};

// Two runs of a network of 38 kernels and one that makes the input.
TEST_F(PublicAlexNet, EveryCuptiKernelIsAssignedOrExplained) {
  const Comparison c =
      CompareFiles(Predict("alexnet.onnx", 128, "a100-sxm4-40gb"),
                   {ReadMeasurementFile(folder_ + "/cupti/alexnet_a100_batch128.csv")});
  double launches = 0;
  for (const CompareRow& row : c.rows) launches += row.measured.launches;
  EXPECT_EQ(launches, 35);
  ASSERT_EQ(c.unmatched_kernels.size(), 4u);  // the input, adaptive pooling, two dropouts
  for (const UnmatchedKernel& kernel : c.unmatched_kernels) EXPECT_NE(kernel.why, "");
  EXPECT_TRUE(c.unmatched_nodes.empty());
  // k = 363 is padded to 368; the bias is a kernel of its own: one FMA per output.
  EXPECT_EQ(Row(c, "/conv1/Conv").measured_flops, 2.0 * 9119334400 + 24780800 + 49561600);
  EXPECT_THAT(Row(c, "/conv2/Conv").why, HasSubstr("FFT"));
  for (const char* conv : {"/conv3/Conv", "/conv4/Conv", "/conv5/Conv"}) {
    EXPECT_THAT(Row(c, conv).why, HasSubstr("matrix pipe"));
  }
  EXPECT_EQ(Row(c, "/fc6/Gemm").measured_flops, 2.0 * 4831838208 + 1572864 + 2097152 + 524288);
}

TEST_F(PublicAlexNet, TraceJoinsThroughTheLaunchingCall) {
  const Comparison c =
      CompareFiles(Predict("alexnet.onnx", 128, "a100-sxm4-40gb"), {},
                   {ReadMeasurementFile(folder_ + "/chrome_trace/pytorch_alexnet_a100.json.gz")});
  const std::map<std::string, double> launches = {
      {"/conv1/Conv", 3}, {"/conv2/Conv", 5}, {"/conv3/Conv", 4}, {"/conv4/Conv", 4},
      {"/conv5/Conv", 4}, {"/fc6/Gemm", 2},   {"/fc7/Gemm", 2},   {"/fc8/Gemm", 2}};
  for (const auto& [node, count] : launches) {
    EXPECT_EQ(Row(c, node).measured.launches, count) << node;
    EXPECT_THAT(Row(c, node).measured.joined_by, HasSubstr("launching call")) << node;
  }
  EXPECT_EQ(c.rows.size(), 18u);
  EXPECT_NEAR(Row(c, "/conv1/Conv").measured.time->value(), (4 + 1034 + 187) * 1e-6, 1e-9);
  EXPECT_GT(c.totals.idle->value(), 0);
}

TEST(Compare, JoinsByNameWhateverTheRuntimeDidToIt) {
  const Predicted predicted = Predict("alexnet.onnx", 1, "p4");
  const auto event = [](const std::string& name, int us) {
    return R"({"cat":"Node","dur":)" + std::to_string(us) + R"(,"ts":1,"ph":"X","name":")" + name +
           R"(_kernel_time","args":{"op_name":"X"}},)";
  };
  std::string text = "[" + event("/conv1/Conv", 30) + event("fused /conv2/Conv_nchwc", 100) +
                     event("/MaxPool", 7) + event("ReorderInput_1", 3) +
                     R"({"cat":"Session","name":"model_run","ph":"X","ts":1,"dur":1}])";
  const Comparison c = CompareFiles(predicted, {ReadText(text)});
  ASSERT_EQ(c.rows.size(), 3u);
  EXPECT_EQ(c.rows[0].node, "/conv1/Conv");
  EXPECT_EQ(c.rows[1].node, "/MaxPool");
  EXPECT_EQ(c.rows[2].node, "/conv2/Conv");
  EXPECT_EQ(c.rows[2].measured.joined_by, "name of a rewritten node");
  ASSERT_EQ(c.unmatched_kernels.size(), 1u);
  EXPECT_THAT(c.unmatched_kernels[0].why, HasSubstr("layout change"));
}

TEST(Compare, TimesOfATraceGoBeforeThoseOfACounterRun) {
  const Predicted predicted = Predict("alexnet.onnx", 1, "p4");
  const Measurement counters =
      ReadText("node,flops,time_us\n/conv1/Conv,143717440,4000\n/conv2/Conv,472294080,9000\n");
  const Measurement trace = ReadText("node,time_us\n/conv1/Conv,40\n/conv2/Conv,90\n");
  const Comparison c = CompareFiles(predicted, {counters}, {trace});
  EXPECT_NEAR(c.rows[0].measured.time->value(), 40e-6, 1e-12);
  EXPECT_EQ(c.rows[0].measured_flops, 143717440);
}

TEST(Compare, SummariesWithoutOrderJoinByFamily) {
  const Predicted predicted = Predict("alexnet.onnx", 1, "p4");
  const Comparison c =
      CompareFiles(predicted, {ReadText("name,launches,time_us\nmaxwell_scudnn_128x64_relu,10,50\n"
                                        "gemv2T_kernel_val,6,5\nmy_kernel,2,1\n")});
  ASSERT_EQ(c.rows.size(), 2u);
  EXPECT_THAT(c.rows[0].node, HasSubstr("5 kernels: Conv"));
  EXPECT_EQ(c.rows[0].algorithmic.value(),
            140553600 + 447897600 + 224280576 + 299040768 + 199360512);
  EXPECT_EQ(c.unmatched_kernels.size(), 1u);
}

// A framework's calls take longer than small kernels, and rows of kernels know nothing of them.
TEST(Compare, KernelsAreHeldAgainstWhatTheyTakeThemselves) {
  Predicted predicted = Predict("alexnet.onnx", 1, "p4");
  ReportOptions options;
  options.run.launch = Launch::kEager;
  predicted.report = BuildReport(predicted.model, predicted.device, options);
  const Comparison kernels =
      CompareFiles(predicted, {ReadText("name,launches,time_us\nmaxwell_scudnn_128x64_relu,5,50\n"
                                        "pooling_fw_4d_kernel<maxpooling_func>,3,5\n")});
  Seconds alone, called;
  for (const KernelRow& kernel : predicted.report.kernels) {
    if (kernel.op != "MaxPool") continue;
    alone += *kernel.on_device;
    called += *kernel.sums.expected;
  }
  const auto pools = std::find_if(kernels.rows.begin(), kernels.rows.end(),
                                  [](const CompareRow& row) { return row.op == "MaxPool"; });
  ASSERT_NE(pools, kernels.rows.end());
  EXPECT_EQ(pools->time_level, TraceLevel::kKernel);
  EXPECT_EQ(pools->expected, alone);
  EXPECT_LT(alone, called);
  EXPECT_EQ(kernels.totals.expected_run, predicted.report.totals.expected);
  EXPECT_LT(kernels.totals.expected, kernels.totals.expected_run);
  const Comparison layers = CompareFiles(
      predicted,
      {ReadText(R"([{"cat":"Node","dur":30,"ts":1,"ph":"X","name":"/conv1/Conv_kernel_time",)"
                R"("args":{"op_name":"Conv"}},)"
                R"({"cat":"Session","name":"model_run","ph":"X","ts":1,"dur":1}])")});
  ASSERT_EQ(layers.rows.size(), 1U);
  EXPECT_EQ(layers.rows[0].time_level, TraceLevel::kLayer);
  EXPECT_EQ(layers.totals.expected_run, std::nullopt);
}

TEST(Compare, PoolingByMaximumIsNotPoolingByAverage) {
  const Predicted predicted = Predict("alexnet.onnx", 1, "p4");
  const Comparison c =
      CompareFiles(predicted, {ReadText("name,launches,time_us\nmaxwell_scudnn_128x64_relu,5,50\n"
                                        "pooling_fw_4d_kernel<maxpooling_func>,3,5\n"
                                        "pooling_fw_4d_kernel<averpooling_func>,1,2\n")});
  ASSERT_EQ(c.unmatched_kernels.size(), 1u);
  EXPECT_THAT(c.unmatched_kernels[0].name, HasSubstr("averpooling"));
}

TEST(Compare, RangesThatAreNamedLikeNodesOfAnotherModelSpeakAgainstIt) {
  const Predicted predicted = Predict("alexnet.onnx", 1, "p4");
  std::string text = R"({"traceEvents":[)";
  for (int n = 0; n < 20; ++n) {
    const std::string id = std::to_string(n), at = std::to_string(100 * n);
    text += R"({"ph":"X","cat":"user_annotation","name":"/encoder/)" + id +
            R"(/MatMul_1","pid":1,"tid":1,"ts":)" + at + R"(,"dur":50},)" +
            R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":)" +
            at + R"(.5,"dur":1,"args":{"correlation":)" + id + R"(}},)" +
            R"({"ph":"X","cat":"kernel","name":"sgemm","pid":0,"tid":7,"ts":)" + at +
            R"(.9,"dur":9,"args":{"correlation":)" + id + R"(,"stream":7,"device":0}},)";
  }
  text.back() = ']';
  const Measurement measured = ReadText(text + "}");
  const Joined joined = Join(predicted.report, measured, predicted.device);
  EXPECT_EQ(joined.names.missing, 20);
  EXPECT_EQ(joined.names.found, 0);
}

TEST(Compare, EveryFormatSaysTheSame) {
  const Predicted predicted = Predict("alexnet.onnx", 1, "p4");
  const Comparison c = CompareFiles(predicted, {ReadFixture("alexnet_p4_nvprof_metrics.csv")});
  const auto json = nlohmann::json::parse(RenderCompareJson(c));
  EXPECT_EQ(json["schema"], "dlcost.compare/1");
  EXPECT_EQ(json["rows"][2]["measured_flops"], 162168191);
  for (const char* key : {"node", "op", "kernel", "launches", "algorithmic_flops", "executed_flops",
                          "measured_flops", "flops_ratio", "predicted_bytes", "measured_bytes",
                          "bound_s", "expected_s", "measured_s", "why"}) {
    EXPECT_TRUE(json["rows"][0].contains(key)) << key;
  }
  for (const char* key : {"totals", "unmatched_kernels", "unmatched_nodes"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_THAT(RenderCompareText(c, {}), HasSubstr("0.723059"));
  EXPECT_THAT(RenderCompareCsv(c), HasSubstr("row,/conv3/Conv,Conv,"));
  EXPECT_THAT(RenderCompareMarkdown(c, {}), HasSubstr("| 0.723059 |"));
  EXPECT_EQ(RenderCompareJson(c), RenderCompareJson(c));
}

}  // namespace
}  // namespace dlcost
