#include <gtest/gtest.h>

#include <map>

#include "estimator/hardware/database.h"
#include "estimator/roofline/run.h"
#include "tests/training/small_step.h"

namespace dlcost {
namespace {

const UpdatePasses* PassesOf(const std::string& optimizer, const std::string& op) {
  static std::map<std::string, InferredModel> kept;
  InferredModel& step = kept[optimizer];
  step = StepOf(TwoLayers().Infer(), {.optimizer = optimizer});
  const CountedNode* node = Find(step, op);
  return node == nullptr ? nullptr : std::get<ElementwiseNest>(node->cost.nest).update.get();
}

// Without what passes touch again they read weights, gradients and states once, and write weights
// and states once: what one kernel for all does.
TEST(Update, PassesTouchEveryOperandOnce) {
  struct Case {
    const char *optimizer, *op;
    int states;
    std::size_t passes;
    int tensors_moved;  // read and written by all passes
  };
  for (const Case& c : {Case{"sgd", "Sgd", 0, 1, 3}, Case{"momentum", "Momentum", 1, 3, 8},
                        Case{"adam", "Adam", 2, 7, 18}, Case{"adamw", "AdamW", 2, 8, 20}}) {
    const UpdatePasses* update = PassesOf(c.optimizer, c.op);
    ASSERT_NE(update, nullptr) << c.op;
    int read = 0, written = 0, moved = 0;
    for (const UpdatePass& pass : update->passes) {
      read += pass.reads - pass.again_read;
      written += pass.writes - pass.again_written;
      moved += pass.reads + pass.writes;
    }
    EXPECT_EQ(update->passes.size(), c.passes) << c.op;
    EXPECT_EQ(read, 2 + c.states) << c.op;
    EXPECT_EQ(written, 1 + c.states) << c.op;
    EXPECT_EQ(moved, c.tensors_moved) << c.op;
    EXPECT_EQ(update->tensors, (std::vector<Count>{Count(8 * 16), Count(16 * 2)})) << c.op;
  }
  EXPECT_EQ(PassesOf("lion", "Lion"), nullptr);  // PyTorch has none
}

class UpdateRun : public testing::Test {
 protected:
  KernelRun Run(UpdateForm form, bool eager = true) const {
    return Runner(&device_, {.launch = eager ? Launch::kEager : Launch::kGraph,
                             .update = form,
                             .attention = AttentionForm::kMaterialized})
        .Run(kernel_);
  }

  UpdateRun() {
    const UpdatePasses* update = PassesOf("adamw", "AdamW");
    kernel_.nest = ElementwiseNest{.elements = Count(160),
                                   .update = std::make_shared<const UpdatePasses>(*update)};
    kernel_.work.Add(OpClass::kMul, DType::kFloat32, Count(160) * 7);
    kernel_.needed = kernel_.work;
    kernel_.bytes_read = Bytes(160 * 4 * 4);
    kernel_.bytes_written = Bytes(160 * 4 * 3);
  }

  Kernel kernel_;
  const Device device_ = DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"}).Find("a100-sxm4-80gb");
};

TEST_F(UpdateRun, IsOneKernelOrOnePerPassOrOnePerPassAndTensor) {
  const KernelRun fused = Run(UpdateForm::kFused), foreach = Run(UpdateForm::kForeach),
                  loop = Run(UpdateForm::kLoop);
  EXPECT_EQ(fused.launches, Count(1));
  EXPECT_EQ(fused.execution, nullptr);
  EXPECT_EQ(foreach.launches, Count(8));
  EXPECT_EQ(foreach.algorithm, "foreach of 8 passes");
  EXPECT_EQ(loop.launches, Count(16));
  // 20 tensors moved instead of 7.
  for (const KernelRun* run : {&foreach, &loop}) {
    EXPECT_EQ(run->execution->ExtraRead() + run->execution->ExtraWritten(), Bytes(13 * 160 * 4));
  }
  // The denominator of all tensors, or of the largest.
  EXPECT_EQ(foreach.execution->workspace, Bytes(160 * 4));
  EXPECT_EQ(loop.execution->workspace, Bytes(128 * 4));
  // A call per launch; nothing is faster than the same bound.
  EXPECT_DOUBLE_EQ(foreach.expected->calls, 8 * fused.expected->calls);
  EXPECT_DOUBLE_EQ(loop.expected->calls, 16 * fused.expected->calls);
  EXPECT_EQ(foreach.bound.time, fused.bound.time);
  EXPECT_GT(foreach.expected->time.expected, fused.expected->time.expected);
  EXPECT_GT(loop.expected->time.expected, foreach.expected->time.expected);
}

}  // namespace
}  // namespace dlcost
