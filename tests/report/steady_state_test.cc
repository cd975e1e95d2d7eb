// A board that works for long is down to the clock that its power sustains, however long one pass
// takes: images per second do not fall because a batch got larger.
#include <gmock/gmock.h>

#include "estimator/report/report.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

TEST(SteadyState, LargerBatchesAreNoSlowerPerImage) {
  for (const char* network : {"alexnet", "resnet50"}) {
    for (const char* name : {"p4", "t4", "l4", "l40s", "v100-pcie-32gb", "h100-sxm5"}) {
      const Device device = DeviceOf(name);
      for (const bool eager : {false, true}) {
        ReportOptions options;
        options.plan.fusion = Fusion::kDefault;
        options.run.launch = eager ? Launch::kEager : Launch::kGraph;
        options.detail = ReportDetail::kOperators;
        double before = 0;
        for (const std::int64_t batch : {256, 512, 1024, 2048}) {
          const InferredModel model = InferFile(
              std::string(DLCOST_SOURCE_DIR) + "/models/networks/" + network + ".onnx", {}, batch);
          const Report report = BuildReport(model, device, options);
          const double rate = static_cast<double>(batch) / report.totals.expected->value();
          // Waves that come out less full may cost a percent.
          EXPECT_GT(rate, 0.99 * before) << network << " on " << name << ", batch " << batch;
          before = std::max(before, rate);
        }
      }
    }
  }
}

TEST(SteadyState, AReportSaysWhichClockItsTimesAreFor) {
  const InferredModel model =
      InferFile(std::string(DLCOST_SOURCE_DIR) + "/models/networks/alexnet.onnx");
  const auto notes = [&](const char* name) {
    const Device device = DeviceOf(name);
    return BuildReport(model, device, {}).notes;
  };
  // 75 W at 1 pJ per FLOP and nm, 16 nm: 4.688 of 5.5 TFLOP/s.
  EXPECT_THAT(
      notes("p4"),
      testing::Contains(testing::HasSubstr("its 75 W sustain 4.688 TFLOP/s of the 5.500 TFLOP/s")));
  EXPECT_THAT(notes("p100-pcie-16gb"),
              testing::Not(testing::Contains(testing::HasSubstr("at work for long"))));
}

}  // namespace
}  // namespace dlcost
