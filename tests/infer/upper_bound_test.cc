// Sizes that only the run knows are upper bounds. What follows from them must not contradict a
// model that is valid: here Unique leaves 1 to 6 of 6 numbers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;

SmallModel UniqueOfSix() {
  SmallModel model;
  model.Input("x", {2, 3}).Node("Unique", {"x"}, {"u"});
  return model;
}

TEST(UpperBound, GivesWayToASizeThatReshapeNames) {
  SmallModel model = UniqueOfSix();
  model.Ints("four", {2, 2}).Node("Reshape", {"u", "four"}, {"y"}).Output("y");
  EXPECT_EQ(ShapeOf(model.Infer(), "y"), Shape({2, 2}));
}

TEST(UpperBound, NeedNotDivideWhereTheTrueSizeDoes) {
  SmallModel model = UniqueOfSix();
  model.Ints("pairs", {4, -1}).Node("Reshape", {"u", "pairs"}, {"y"}).Output("y");
  const InferredModel inferred = model.Infer();
  EXPECT_EQ(ShapeOf(inferred, "y"), Shape({4, 1})) << "4 of at most 6";
  EXPECT_TRUE(TensorOf(inferred, "y").upper_bound);
}

TEST(UpperBound, GivesWayToThePartsOfASplit) {
  SmallModel model = UniqueOfSix();
  model.Ints("parts", {1, 3}).Node("Split", {"u", "parts"}, {"a", "b"});
  const InferredModel inferred = model.Output("a").Output("b").Infer();
  EXPECT_EQ(ShapeOf(inferred, "a"), Shape({1}));
  EXPECT_EQ(ShapeOf(inferred, "b"), Shape({3})) << "4 of at most 6";
  SmallModel more = UniqueOfSix();
  more.Ints("parts", {4, 3}).Node("Split", {"u", "parts"}, {"a", "b"}).Output("a").Output("b");
  EXPECT_FALSE(TensorOf(more.Infer(), "a").type.shape.has_value()) << "7 of at most 6";
}

TEST(UpperBound, StillHasToReachTheSizeThatReshapeNames) {
  SmallModel model = UniqueOfSix();
  model.Ints("seven", {7}).Node("Reshape", {"u", "seven"}, {"y"}).Output("y");
  const InferredModel inferred = model.Infer();
  EXPECT_FALSE(TensorOf(inferred, "y").type.shape.has_value()) << "7 of at most 6";
}

TEST(UpperBound, ThatFitsNothingIsUnknownAndNoError) {
  SmallModel model = UniqueOfSix();
  model.Weight("w", {4}).Node("Add", {"u", "w"}, {"y"}).Node("Relu", {"x"}, {"z"});
  const InferredModel inferred = model.Output("y").Output("z").Infer();
  EXPECT_EQ(NodeOf(inferred, "n_y").status, NodeStatus::kUnknown);
  EXPECT_THAT(NodeOf(inferred, "n_y").why, HasSubstr("upper bounds do not fit"));
  EXPECT_EQ(NodeOf(inferred, "n_z").status, NodeStatus::kCounted) << "the rest goes on";
}

// Where nothing depends on data the same graph is wrong.
TEST(UpperBound, ExactSizesThatDoNotFitAreAnError) {
  SmallModel model;
  model.Input("u", {6}).Weight("w", {4}).Node("Add", {"u", "w"}, {"y"}).Output("y");
  EXPECT_THROW(model.Infer(), Error);
}

TEST(UpperBound, OfScannedRowsIsOneOfStepsToo) {
  SmallModel body;
  body.Input("h", {1, 2}).Input("row", {}).Node("MatMul", {"h", "w"}, {"z"});
  body.Node("Identity", {"h"}, {"h2"}).Output("h2").Output("z");
  SmallModel model = UniqueOfSix();
  model.Input("s", {1, 2}).Weight("w", {2, 5});
  auto& scan = model.AddNode("Scan", {"s", "u"}, {"last", "all"});
  SetInt(scan, "num_scan_inputs", 1);
  SetGraph(scan, "body", body);
  const InferredModel inferred = model.Output("all").Infer();
  EXPECT_EQ(ShapeOf(inferred, "all"), Shape({6, 1, 5}));
  EXPECT_TRUE(TensorOf(inferred, "all").upper_bound);
  const CountedNode& product = NodeOf(inferred, "n_last/n_z");
  EXPECT_EQ(product.cost.work.macs(), Macs(6 * 10));
  EXPECT_TRUE(product.upper_bound) << "it reads no row, but runs once for each";
}

// The k largest in any order: which stands where is not known, although the numbers are.
TEST(TopK, UnsortedHasNoValue) {
  SmallModel model;
  model.Ints("x", {5, 7, 6}).Ints("k", {2});
  SetInt(model.AddNode("TopK", {"x", "k"}, {"y", "at"}), "sorted", 0);
  const InferredModel inferred = model.Output("y").Infer();
  EXPECT_EQ(ShapeOf(inferred, "y"), Shape({2}));
  EXPECT_EQ(TensorOf(inferred, "y").value, nullptr);
}

}  // namespace
}  // namespace dlcost
