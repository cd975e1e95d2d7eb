// What a kernel does is decided once: on devices of different makers, every view of a kernel of the
// reference networks is one of the same run.
#include "tests/roofline/one_execution.h"

#include <gtest/gtest.h>

#include "estimator/roofline/run.h"
#include "models/algorithms/counters.h"

namespace dlcost {
namespace {

// The terms of an explanation add up to the expected time; executed work, launches and traffic are
// the execution's; nothing needs less than the least.
TEST(OneExecution, EveryKernelOfEveryNetworkOnEveryMakersDevice) {
  for (const Network& network : kNetworks) {
    const InferredModel model = Load(network);
    const Plan plan = MakePlan(model, {.fusion = Fusion::kDefault});
    for (const char* name : kDevices) {
      const Device device = DeviceOf(name);
      const Runner plain(&device, {}), explained(&device, {.explain = true});
      for (const Kernel& kernel : plan.kernels) {
        SCOPED_TRACE(std::string(network.file) + " on " + name + ": " + kernel.id + " " +
                     kernel.label);
        const KernelRun run = plain.Run(kernel), told = explained.Run(kernel);
        EXPECT_EQ(run.algorithm, told.algorithm);
        ASSERT_EQ(run.expected.has_value(), told.expected.has_value());
        if (run.execution != nullptr) {
          EXPECT_EQ(run.execution->name, run.algorithm);
          EXPECT_EQ(run.execution->Launches(), run.launches);
          EXPECT_GE(run.executed.Of(OpClass::kMac) + Count(1), run.least.Of(OpClass::kMac) / 2);
        }
        EXPECT_LE(run.least.Of(OpClass::kMac), kernel.work.Of(OpClass::kMac));
        if (!told.expected) continue;
        EXPECT_EQ(run.expected->time.expected, told.expected->time.expected);
        EXPECT_GE(run.expected->time.expected, run.bound.time.value());
        const std::vector<TimeTerm>& terms = told.expected->terms;
        ASSERT_FALSE(terms.empty());
        EXPECT_DOUBLE_EQ(terms[0].value, run.expected->time.expected);
        for (std::size_t i = 0; i < terms.size(); ++i) {
          if (!terms[i].IsTime()) continue;
          EXPECT_NEAR(Combined(terms, i), terms[i].value, 1e-9 * terms[i].value) << terms[i].what;
        }
      }
    }
  }
}

// A loop's body takes as long every time.
TEST(OneExecution, NRunsTakeNTimesOne) {
  for (const Network& network : kNetworks) {
    const InferredModel model = Load(network);
    for (const char* name : {"p4", "a100-sxm4-80gb", "tpu-v5e"}) {
      const Device device = DeviceOf(name);
      const Runner runner(&device, {});
      ForEachKernel(model, {.fusion = Fusion::kDefault}, [&](const Kernel& once) {
        if (once.repeat == Count(0)) return;
        Kernel ten = once;
        ten.repeat = once.repeat * 10;
        ten.work.Scale(10);
        ten.needed.Scale(10);
        ten.bytes_read = once.bytes_read * 10;
        ten.bytes_written = once.bytes_written * 10;
        ten.bytes_passed = once.bytes_passed * 10;
        const KernelRun one = runner.Run(once), all = runner.Run(ten);
        EXPECT_EQ(all.launches, one.launches * 10) << once.label;
        EXPECT_EQ(all.executed.Of(OpClass::kMac), one.executed.Of(OpClass::kMac) * Count(10));
        ASSERT_EQ(one.expected.has_value(), all.expected.has_value());
        if (!one.expected) return;
        EXPECT_NEAR(all.expected->time.expected, 10 * one.expected->time.expected,
                    1e-9 * all.expected->time.expected)
            << once.label;
      });
    }
  }
}

// What the user forces changes what is executed, moved or how long it takes, wherever another
// algorithm would run.
TEST(OneExecution, AForcedAlgorithmShows) {
  const InferredModel model = Load({"resnet50", {}});
  const Plan plan = MakePlan(model, {.fusion = Fusion::kDefault});
  for (const char* name :
       {"p4", "v100-sxm2-16gb", "a100-sxm4-80gb", "h100-sxm5", "mi300x", "xeon-platinum-8380"}) {
    const Device device = DeviceOf(name);
    for (const Algorithm algorithm :
         {Algorithm::kDirect, Algorithm::kIm2colGemm, Algorithm::kImplicitGemm,
          Algorithm::kWinograd, Algorithm::kWinogradNonfused, Algorithm::kFft}) {
      SCOPED_TRACE(std::string(Name(algorithm)) + " on " + name);
      int forced = 0, other = 0, shown = 0;
      for (const Kernel& kernel : plan.kernels) {
        if (!std::holds_alternative<ConvNest>(kernel.nest)) continue;
        const KernelRun automatic = Runner(&device, {}).Run(kernel);
        const KernelRun run = Runner(&device, {.conv = algorithm}).Run(kernel);
        if (!run.forced) continue;
        ++forced;
        EXPECT_EQ(run.execution->algorithm, algorithm);
        if (automatic.execution->algorithm == algorithm) continue;
        ++other;
        shown += run.expected->time.expected != automatic.expected->time.expected ||
                 run.executed != automatic.executed;
      }
      EXPECT_GT(forced, 0);
      EXPECT_TRUE(other == 0 || shown > 0);
    }
  }
}

TEST(OneExecution, MaterializedAttentionMovesItsScores) {
  Kernel kernel;
  const AttentionNest nest{.batch = 4,
                           .q_heads = 16,
                           .kv_heads = 16,
                           .q_len = 512,
                           .kv_len = 512,
                           .qk_dim = 64,
                           .v_dim = 64};
  kernel.nest = nest;
  kernel.nest_name = "attention";
  kernel.math = DType::kFloat16;
  kernel.work.Add(OpClass::kMac, DType::kFloat16, MacsOf(nest));
  kernel.needed = kernel.work;
  kernel.bytes_read = Bytes(Count(3) * 4 * 16 * 512 * 64 * 2);
  kernel.bytes_written = Bytes(Count(4) * 16 * 512 * 64 * 2);
  const Device device = DeviceOf("a100-sxm4-80gb");
  const KernelRun fused = Runner(&device, {}).Run(kernel);
  const KernelRun apart = Runner(&device, {.attention = AttentionForm::kMaterialized}).Run(kernel);
  // Scores and probabilities, each written and read.
  EXPECT_EQ(apart.execution->ExtraRead() + apart.execution->ExtraWritten(),
            Bytes(Count(4) * 4 * 16 * 512 * 512 * 2));
  EXPECT_EQ(apart.launches, Count(3));
  EXPECT_GT(apart.expected->time.expected, 1.3 * fused.expected->time.expected);
}

// Of floats, "flash-16bit" materializes the scores of several queries alone; of halves those of
// more than 384.
TEST(OneExecution, OneQueryAndShortHalvesStayOnTheChip) {
  const Device device = DeviceOf("a100-sxm4-80gb");
  for (const auto& [type, queries] :
       std::vector<std::pair<DType, std::int64_t>>{{DType::kFloat32, 1},
                                                   {DType::kFloat32, 2},
                                                   {DType::kFloat32, 512},
                                                   {DType::kFloat16, 384},
                                                   {DType::kFloat16, 512}}) {
    Kernel kernel;
    const AttentionNest nest{.batch = 4,
                             .q_heads = 16,
                             .kv_heads = 16,
                             .q_len = queries,
                             .kv_len = 512,
                             .qk_dim = 64,
                             .v_dim = 64};
    kernel.nest = nest;
    kernel.nest_name = "attention";
    kernel.math = type;
    kernel.work.Add(OpClass::kMac, type, MacsOf(nest));
    kernel.needed = kernel.work;
    const KernelRun run = Runner(&device, {.attention = AttentionForm::kFlash16}).Run(kernel);
    const bool fused = queries == 1 || (type == DType::kFloat16 && queries <= 384);
    const Count moved = fused ? Count(0) : Count(4) * 4 * 16 * queries * 512 * (Bits(type) / 8);
    EXPECT_EQ(run.execution->ExtraRead() + run.execution->ExtraWritten(), Bytes(moved)) << queries;
  }
}

}  // namespace
}  // namespace dlcost
