#include <gtest/gtest.h>

#include "estimator/roofline/run.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

Kernel Backward(const AttentionNest& nest) {
  Kernel kernel;
  kernel.nest = nest;
  kernel.nest_name = "attention";
  kernel.math = DType::kBfloat16;
  kernel.work.Add(OpClass::kMac, DType::kBfloat16, MacsOf(nest));
  kernel.needed = kernel.work;
  const Count elements = nest.batch * nest.q_heads * nest.q_len * nest.qk_dim;
  kernel.bytes_read = Bytes(elements * 2 * 5 + nest.batch * nest.q_heads * nest.q_len * 4);
  kernel.bytes_written = Bytes(elements * 2 * 3);
  return kernel;
}

AttentionNest Nest(int batch, int heads, int length, int width, bool causal) {
  return {.batch = batch,
          .q_heads = heads,
          .kv_heads = heads,
          .q_len = length,
          .kv_len = length,
          .qk_dim = width,
          .v_dim = width,
          .causal = causal,
          .backward = true};
}

// FlashAttention-3's own benchmark on an H100 SXM: 2 samples of 8,192 positions, 16 heads of 128
// (Dao-AILab/flash-attention, pull 1791). No constant was fitted to it alone.
TEST(AttentionBackward, TakesAsLongAsPublished) {
  const Device device = DeviceOf("h100-sxm5");
  for (const auto& [causal, milliseconds] : {std::pair(false, 4.962), std::pair(true, 2.585)}) {
    const KernelRun run = Runner(&device, {}).Run(Backward(Nest(2, 16, 8192, 128, causal)));
    const double expected = 1e3 * run.expected->time.expected;
    EXPECT_NEAR(expected / milliseconds, 1, 0.15) << causal;
    EXPECT_LT(1e3 * run.bound.time.value(), milliseconds);
  }
}

double SecondsOf(const Device& device, AttentionForm form, bool backward) {
  AttentionNest nest = Nest(4, 48, 16384, 64, false);
  nest.backward = backward;
  return Runner(&device, {.attention = form}).Run(Backward(nest)).expected->time.expected;
}

// Long sequences run at the shares of the peak that papers state: of FlashAttention 40 and 30 % of
// an A100 (the middle of 30 to 50 and 25 to 35), of FlashAttention-2 35 % of an H100; launches and
// the start of blocks come on top.
TEST(AttentionForms, PassNoShareOfThePeakThatPapersState) {
  const double flops = 4 * 4.0 * 48 * 16384 * 16384 * 64;
  const Device ampere = DeviceOf("a100-sxm4-80gb"), hopper = DeviceOf("h100-sxm5");
  const double a100 = 312e12, h100 = 989.4e12;
  using Form = AttentionForm;
  EXPECT_NEAR(flops / a100 / SecondsOf(ampere, Form::kFlash1, false), 0.40, 0.015);
  EXPECT_NEAR(2.5 * flops / a100 / SecondsOf(ampere, Form::kFlash1, true), 0.30, 0.015);
  EXPECT_NEAR(flops / h100 / SecondsOf(hopper, Form::kFlash2, false), 0.35, 0.015);
  EXPECT_NEAR(2.5 * flops / h100 / SecondsOf(hopper, Form::kFlash2, true), 0.35, 0.015);
  // An A100's kernels are those of FlashAttention-2.
  EXPECT_EQ(SecondsOf(ampere, Form::kFlash2, true), SecondsOf(ampere, Form::kFlash, true));
  EXPECT_LT(SecondsOf(hopper, Form::kFlash, true), SecondsOf(hopper, Form::kFlash2, true));
  EXPECT_LT(SecondsOf(hopper, Form::kFlash2, true), SecondsOf(hopper, Form::kFlash1, true));
}

// 64 scores per row and column, 8 + 8 numbers: five products are executed whether the scores count
// or not.
TEST(AttentionBackward, ExecutesFiveProducts) {
  const Device device = DeviceOf("a100-sxm4-80gb");
  AttentionNest nest = Nest(1, 1, 128, 64, false);
  const Count scores = Count(128) * 128;
  EXPECT_EQ(MacsOf(nest), scores * 64 * 5);
  const KernelRun counted = Runner(&device, {}).Run(Backward(nest));
  nest.counts_scores = false;
  EXPECT_EQ(MacsOf(nest), scores * 64 * 4);
  const KernelRun kept = Runner(&device, {}).Run(Backward(nest));
  EXPECT_EQ(counted.execution->On(Pipe::kTensor).fma, scores * 64 * 5);
  EXPECT_EQ(kept.execution->On(Pipe::kTensor).fma, scores * 64 * 5);
  EXPECT_EQ(kept.executed, counted.executed);
}

// Arrays and processors run the same products.
TEST(AttentionBackward, RunsOnEveryKindOfDevice) {
  for (const char* name : {"tpu-v5e", "xeon-platinum-8480plus", "mi300x", "v100-sxm2-16gb"}) {
    const Device device = DeviceOf(name);
    const KernelRun run = Runner(&device, {}).Run(Backward(Nest(1, 4, 512, 64, true)));
    Kernel there = Backward(Nest(1, 4, 512, 64, true));
    std::get<AttentionNest>(there.nest).backward = false;
    const KernelRun forward = Runner(&device, {}).Run(there);
    ASSERT_TRUE(run.expected && forward.expected) << name;
    EXPECT_GT(run.expected->time.expected, 1.5 * forward.expected->time.expected) << name;
    EXPECT_GE(run.expected->time.expected, run.bound.time.value()) << name;
  }
}

}  // namespace
}  // namespace dlcost
