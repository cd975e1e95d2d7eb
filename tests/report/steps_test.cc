// What ReportDetail::kSteps adds: where expected times come from, and which tensors are live.

#include <gtest/gtest.h>

#include <algorithm>

#include "estimator/hardware/database.h"
#include "estimator/infer/infer.h"
#include "estimator/onnx/reader.h"
#include "estimator/report/report.h"

namespace dlcost {
namespace {

Report StepReport(const std::string& network, ReportDetail detail, const Bindings& bindings = {},
                  bool eager = false) {
  const std::string source = DLCOST_SOURCE_DIR;
  const InferredModel model =
      Infer(ReadModel(source + "/models/networks/" + network + ".onnx"), {bindings});
  ReportOptions options;
  options.plan.fusion = Fusion::kDefault;
  options.run.launch = eager ? Launch::kEager : Launch::kGraph;
  options.detail = detail;
  return BuildReport(model, DeviceDatabase({source + "/hw_specs"}).Find("a100"), options);
}

void ExpectLiveTensorsAddUp(const Report& report) {
  ASSERT_FALSE(report.live.empty());
  for (std::size_t step = 0; step < report.memory.size(); ++step) {
    Bytes sum;
    for (const LiveTensor& tensor : report.live) {
      if (tensor.from <= step && step <= tensor.to) sum += tensor.size;
    }
    EXPECT_EQ(sum, report.memory[step].live) << step;
  }
}

TEST(Steps, LiveTensorsAddUpToWhatIsLive) {
  for (const char* network : {"resnet50", "mobilenet-v2", "alexnet"}) {
    SCOPED_TRACE(network);
    ExpectLiveTensorsAddUp(StepReport(network, ReportDetail::kSteps));
  }
  ExpectLiveTensorsAddUp(
      StepReport("bert-base", ReportDetail::kSteps, {.dims = {{"batch", 2}, {"sequence", 16}}}));
}

TEST(Steps, TermsMakeUpTheExpectedTime) {
  const Report report = StepReport("resnet50", ReportDetail::kSteps);
  std::size_t told = 0;
  for (const KernelRow& kernel : report.kernels) {
    if (kernel.launches == Count(0)) continue;
    ASSERT_NE(kernel.steps, nullptr) << kernel.id;
    EXPECT_EQ(kernel.steps->terms.front().value, kernel.sums.expected->value()) << kernel.id;
    ++told;
  }
  EXPECT_EQ(told, 56U);
}

TEST(Steps, AreToldWhereTheyAreAskedForAndHold) {
  const auto has = [](const KernelRow& kernel) { return kernel.steps != nullptr; };
  for (const Report& report : {StepReport("alexnet", ReportDetail::kOperands),
                               StepReport("alexnet", ReportDetail::kSteps, {}, true)}) {
    EXPECT_TRUE(std::none_of(report.kernels.begin(), report.kernels.end(), has));
  }
  EXPECT_TRUE(StepReport("alexnet", ReportDetail::kOperands).live.empty());
}

TEST(Steps, ChangeNoNumber) {
  const Report plain = StepReport("resnet50", ReportDetail::kOperands);
  const Report steps = StepReport("resnet50", ReportDetail::kSteps);
  EXPECT_EQ(plain.totals.expected->value(), steps.totals.expected->value());
  EXPECT_EQ(plain.kernels.size(), steps.kernels.size());
}

}  // namespace
}  // namespace dlcost
