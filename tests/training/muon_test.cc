#include "estimator/training/muon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/networks/networks.h"
#include "tests/training/small_step.h"

namespace dlcost {
namespace {

Macs MacsOfUpdate(const InferredModel& step) {
  Macs macs;
  for (const CountedNode& counted : step.nodes) {
    if (counted.node->phase == Phase::kOptimizer) macs += counted.cost.work.macs();
  }
  return macs;
}

// Five iterations of X X', A A and B X for m x n, m <= n.
std::int64_t NewtonSchulz(std::int64_t m, std::int64_t n) {
  return 5 * (2 * m * m * n + m * m * m);
}

TEST(Muon, UpdatesHiddenMatricesAndLeavesTheRest) {
  const InferredModel step = StepOf(SmallModel()
                                        .Input("ids", {4}, onnx::TensorProto::INT64)
                                        .Weight("table", {50, 8})
                                        .Weight("a", {8, 16})
                                        .Weight("b", {16, 12})
                                        .Weight("bias", {12})
                                        .Weight("head", {12, 50})
                                        .Node("Gather", {"table", "ids"}, {"x"})
                                        .Node("MatMul", {"x", "a"}, {"h"})
                                        .Node("Relu", {"h"}, {"r"})
                                        .Node("MatMul", {"r", "b"}, {"c"})
                                        .Node("Add", {"c", "bias"}, {"d"})
                                        .Node("MatMul", {"d", "head"}, {"y"})
                                        .Output("y")
                                        .Infer(),
                                    {.optimizer = "muon"});
  EXPECT_EQ(MacsOfUpdate(step), Macs(NewtonSchulz(8, 16) + NewtonSchulz(12, 16)));
  const std::int64_t matrices = 8 * 16 + 16 * 12, others = 50 * 8 + 12 + 12 * 50;
  // A momentum for each number of a matrix, two moments for the others.
  EXPECT_EQ(step.step->state_bytes, Bytes(4 * (matrices + 2 * others)));
  EXPECT_EQ(step.step->gradient_bytes, Bytes(4 * (matrices + others)));
  EXPECT_EQ(step.step->trained, Count(matrices + others));
  ASSERT_NE(Find(step, "MuonMomentum"), nullptr);
  EXPECT_EQ(Find(step, "MuonMomentum")->cost.BytesRead(), Bytes(2 * 4 * matrices));
  ASSERT_NE(Find(step, "AdamW"), nullptr);
}

// Three matrices of 768 x 768, 2304 and 2 x 3072 per layer; tables of tokens and positions are
// none.
TEST(Muon, OfGpt2) {
  InferOptions options;
  options.bindings.dims["sequence"] = 16;
  options.bindings.batch = 1;
  const InferredModel forward =
      Infer(ReadModelFromBytes(BuildNetwork("gpt2", {{"layers", "2"}}), "gpt2"), options);
  const InferredModel step = InferStep(BuildStep(forward, {.optimizer = "muon"}), forward, options);
  EXPECT_EQ(MacsOfUpdate(step), Macs(2 * (NewtonSchulz(768, 768) + NewtonSchulz(768, 2304) +
                                          2 * NewtonSchulz(768, 3072))));
}

TEST(Muon, KeepsCopiesOfHalfWeights) {
  const InferredModel step =
      StepOf(TwoLayers().Infer(), {.optimizer = "muon", .precision = "bf16"});
  EXPECT_EQ(step.step->master_bytes, Bytes(4 * (8 * 16 + 16 * 2)));
  EXPECT_EQ(step.step->state_bytes, Bytes(4 * (8 * 16 + 2 * 16 * 2)));
  EXPECT_EQ(MacsOfUpdate(step), Macs(NewtonSchulz(8, 16)));
}

}  // namespace
}  // namespace dlcost
