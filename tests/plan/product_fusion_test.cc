// What matrix products and convolutions take up, and what runs beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/infer/small_model.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

using testing::ElementsAre;

// x times k with its axes in another order.
SmallModel Scores(const std::vector<std::int64_t>& axes) {
  SmallModel small;
  small.Input("x", {4, 4, 4}).Input("k", {4, 4, 4}).Weight("two", {1});
  SetInts(small.AddNode("Transpose", {"k"}, {"t"}), "perm", axes);
  small.Node("MatMul", {"x", "t"}, {"p"});
  return small;
}

std::vector<std::string> LabelsOfBlas(SmallModel& small, FusionStep more) {
  PlanOptions options{.fusion = Fusion::kDefault, .fuses = {}};
  options.fuses.Add(FusionStep::kOperands);
  options.fuses.Add(more);
  return Labels(MakePlan(small.Output("y").Infer(), options));
}

// BLAS multiplies by op(B) and scales by alpha: a product takes the transposition that it alone
// reads and a stored factor, but no number over a sum, ...
TEST(Fusion, ProductsTakeTranspositionsAndFactors) {
  const auto labels = [](const std::string& op, const std::vector<std::string>& operands) {
    SmallModel small = Scores({0, 2, 1});
    return LabelsOfBlas(small.Node(op, operands, {"y"}), FusionStep::kOperands);
  };
  EXPECT_THAT(labels("Mul", {"two", "p"}), ElementsAre("transpose + mat_mul + mul"));
  EXPECT_THAT(labels("Div", {"p", "two"}), ElementsAre("transpose + mat_mul + div"));
  EXPECT_THAT(labels("Div", {"two", "p"}), ElementsAre("transpose + mat_mul", "div"));
}

// A bias is a stored vector: an activation's additions are none, nor is a residual.
TEST(Fusion, ProductsWithABiasAreTold) {
  const auto biased = [](const std::string& op, const std::vector<std::string>& operands) {
    SmallModel small;
    small.Input("x", {4, 8}).Input("r", {4, 8}).Weight("w", {8, 8}).Weight("b", {8});
    if (op == "Gemm") {
      small.Node(op, operands, {"y"});
    } else {
      small.Node("MatMul", {"x", "w"}, {"p"}).Node(op, operands, {"y"});
    }
    return PlanWith(small.Output("y").Infer(), Fusion::kDefault).kernels.front().biased;
  };
  EXPECT_TRUE(biased("Gemm", {"x", "w", "b"}));
  EXPECT_TRUE(biased("Add", {"p", "b"}));
  EXPECT_FALSE(biased("Gemm", {"x", "w"}));
  EXPECT_FALSE(biased("Add", {"p", "r"}));
  EXPECT_FALSE(biased("Sigmoid", {"p"}));
}

// ... no other order of axes and no factor behind a bias.
TEST(Fusion, ProductsTakeNothingElse) {
  SmallModel turned = Scores({1, 0, 2});
  EXPECT_THAT(LabelsOfBlas(turned.Node("Mul", {"p", "two"}, {"y"}), FusionStep::kOperands),
              ElementsAre("transpose", "mat_mul + mul"));
  SmallModel biased;
  biased.Input("x", {4, 4}).Weight("w", {4, 4}).Weight("b", {4}).Weight("two", {1});
  biased.Node("MatMul", {"x", "w"}, {"p"}).Node("Add", {"p", "b"}, {"q"});
  EXPECT_THAT(LabelsOfBlas(biased.Node("Mul", {"q", "two"}, {"y"}), FusionStep::kBias),
              ElementsAre("mat_mul + add", "mul"));
}

// What a product multiplies comes from a kernel before it, also where it has as many elements as
// the result: as the activation of a normalization has in front of a convolution that keeps its
// image.
TEST(Fusion, ProductsDoNotComputeTheirOperands) {
  SmallModel image;
  image.Input("x", {1, 8, 16, 16}).Weight("w", {8, 8, 1, 1});
  image.Node("Sigmoid", {"x"}, {"s"}).Node("Conv", {"s", "w"}, {"y"}).Output("y");
  EXPECT_THAT(Labels(PlanWith(image.Infer(), Fusion::kDefault)), ElementsAre("sigmoid", "conv"));
}

// What compilers fuse reads by strides what is transposed or cut out, and has its elements placed
// by nobody at run time; a convolution wants its image whole.
TEST(Fusion, CompilersReadByStrides) {
  for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{0, 2, 1}, {1, 0, 2}}) {
    SmallModel scores = Scores(axes);
    const Plan plan = PlanWith(scores.Output("p").Infer(), Fusion::kDefault);
    EXPECT_THAT(Labels(plan), ElementsAre("mat_mul"));
    EXPECT_FALSE(KernelOf(plan, "mat_mul").general);
  }
  SmallModel cut;
  cut.Input("x", {2, 8, 16, 16}).Weight("w", {8, 4, 1, 1}).Ints("zero", {0}).Ints("four", {4});
  cut.Ints("one", {1}).Node("Slice", {"x", "zero", "four", "one"}, {"a"});
  cut.Node("Sigmoid", {"a"}, {"s"}).Node("Conv", {"a", "w"}, {"y"}).Output("s").Output("y");
  EXPECT_THAT(Labels(PlanWith(cut.Infer(), Fusion::kDefault)),
              ElementsAre("slice + sigmoid", "conv"));
}

}  // namespace
}  // namespace dlcost
