// What may be rounded to TF32 need not be: allowing it makes no convolution and no row slower.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "estimator/roofline/run.h"
#include "models/networks/networks.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

TEST(Math, AllowingTf32TakesNoLonger) {
  const DeviceDatabase database({DLCOST_SOURCE_DIR "/hw_specs"});
  for (const char* network : {"alexnet", "mobilenet-v2", "resnet50"}) {
    InferOptions infer;
    infer.bindings.batch = 1;
    const InferredModel model =
        Infer(ReadModelFromBytes(BuildNetwork(network, {}), network), infer);
    const Plan plan = MakePlan(model, {.fusion = Fusion::kDefault});
    for (const char* name : {"rtx-3090", "h20", "a100-sxm4-80gb", "mi300x", "rtx-4090"}) {
      const Device& device = database.Find(name);
      const Runner exact(&device, {}), rounded(&device, {.math = MathMode::kTf32});
      for (const Kernel& kernel : plan.kernels) {
        if (kernel.repeat == Count(0) || kernel.work.macs() == Macs(0)) continue;
        EXPECT_LE(rounded.Run(kernel).expected->time.expected,
                  exact.Run(kernel).expected->time.expected * (1 + 1e-9))
            << fmt::format("{} on {}: {}", network, name, kernel.label);
      }
    }
  }
}

}  // namespace
}  // namespace dlcost
