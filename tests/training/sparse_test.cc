#include "estimator/training/sparse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/core/error.h"
#include "tests/training/small_step.h"

namespace dlcost {
namespace {

// Six rows of a table of 50 x 8 times a[8,3], or times the table itself.
SmallModel Embedded(bool tied) {
  SmallModel model;
  model.Input("ids", {2, 3}, onnx::TensorProto::INT64)
      .Weight("table", {50, 8})
      .Weight("a", {8, 3})
      .Node("Gather", {"table", "ids"}, {"x"})
      .Node("MatMul", {"x", tied ? "t" : "a"}, {"y"})
      .Output("y");
  if (tied) model.Node("Transpose", {"table"}, {"t"});
  return model;
}

TEST(SparseGradients, AreTheRowsThatWereUsed) {
  const InferredModel step = StepOf(
      Embedded(false).Infer(), {.optimizer = "adamw", .loss = "sum", .sparse_embeddings = true});
  EXPECT_EQ(Find(step, "GatherGrad"), nullptr);
  EXPECT_EQ(step.step->gradient_bytes, Bytes(4 * (6 * 8 + 24)));
  EXPECT_EQ(step.step->state_bytes, Bytes(4 * 2 * (400 + 24)));
  EXPECT_EQ(step.step->trained, Count(400 + 24));
  const CountedNode* update = Find(step, "SparseAdam");
  ASSERT_NE(update, nullptr);
  // Rate, count, six indices; the gradient, and six rows of table and two moments.
  EXPECT_EQ(update->cost.BytesRead(), Bytes(4 + 8 + 6 * 8 + 4 * 48 * 4));
  EXPECT_EQ(update->cost.BytesWritten(), Bytes(4 * 48 * 3));
  EXPECT_NE(Find(step, "AdamW"), nullptr);  // of the matrix
}

TEST(SparseGradients, AreNoneOfATableWithAnotherUse) {
  const InferredModel step = StepOf(Embedded(true).Infer(),
                                    {.optimizer = "sgd", .loss = "sum", .sparse_embeddings = true});
  EXPECT_NE(Find(step, "GatherGrad"), nullptr);
  EXPECT_EQ(Find(step, "SparseSgd"), nullptr);
}

TEST(SparseGradients, SayWhatTheyDoNotGoWith) {
  const auto error = [](TrainOptions options) {
    options.sparse_embeddings = true;
    options.loss = "sum";
    try {
      StepOf(Embedded(false).Infer(), options);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_THAT(error({.optimizer = "lion"}), ::testing::HasSubstr("lion has no update of rows"));
  EXPECT_THAT(error({.optimizer = "sgd", .micro_batches = 2}),
              ::testing::HasSubstr("--accumulate"));
  EXPECT_THAT(error({.optimizer = "sgd", .precision = "bf16"}), ::testing::HasSubstr("in half"));
}

}  // namespace
}  // namespace dlcost
