// What follows a choice that only the run makes, as in the second stage of a detector: counted at
// an upper bound that is never nothing, and marked all the way.

#include <gtest/gtest.h>

#include <limits>

#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

SmallModel Suppression(const std::string& limit) {
  SmallModel model;
  model.Input("boxes", {2, 20, 4}).Input("scores", {2, 3, 20});
  model.Node("NonMaxSuppression", {"boxes", "scores", limit}, {"chosen"});
  return model;
}

// Boxes and classes: ONNX Runtime 1.31 chooses as many where none overlap.
TEST(Detections, TheLimitOfNonMaxSuppression) {
  for (const auto& [limit, boxes] :
       {std::pair{kMax, 120}, {100, 120}, {5, 30}, {1, 6}, {0, 0}, {-1, 0}, {kMin, 0}}) {
    SmallModel model = Suppression("limit");
    const InferredModel inferred = model.Ints("limit", {limit}).Output("chosen").Infer();
    EXPECT_EQ(ShapeOf(inferred, "chosen"), Shape({boxes, 3})) << limit;
    EXPECT_EQ(TensorOf(inferred, "chosen").upper_bound, boxes > 0) << limit;
  }
  EXPECT_EQ(ShapeOf(Suppression("").Infer(), "chosen"), Shape({0, 3})) << "the default is 0";
  SmallModel open = Suppression("limit");
  const InferredModel inferred = open.Input("limit", {1}, onnx::TensorProto::INT64).Infer();
  EXPECT_EQ(ShapeOf(inferred, "chosen"), Shape({120, 3})) << "computed at run time";
}

// As torchvision writes it: the best `most` of what is chosen, their features, and a product for
// each; an If takes another way where nothing was found.
TEST(Detections, TheSecondStageIsCountedAndMarked) {
  SmallModel found, nothing;
  found.Node("Gather", {"features", "best"}, {"rows"}).Node("MatMul", {"rows", "w"}, {"scores2"});
  found.Output("scores2");
  nothing.Node("Gather", {"features", "zero"}, {"row"}).Output("row");
  SmallModel model = Suppression("limit");
  model.Input("features", {20, 8}).Weight("w", {8, 8}).Ints("limit", {kMax});
  model.Ints("zero", {0}).Ints("seven", {7}).Ints("two", {2}).Ints("three", {3}).Ints("axis", {1});
  model.Node("Slice", {"chosen", "two", "three", "axis"}, {"column"});
  model.Node("Squeeze", {"column", "axis"}, {"indices"});
  model.Node("Slice", {"indices", "zero", "seven", "zero"}, {"best"});
  model.Node("Shape", {"best"}, {"shape"}).Node("Greater", {"shape", "zero"}, {"any"});
  onnx::NodeProto& node = model.AddNode("If", {"any"}, {"y"});
  SetGraph(node, "then_branch", found);
  SetGraph(node, "else_branch", nothing);
  SetInt(model.AddNode("Concat", {"y", "y"}, {"twice"}), "axis", 0);
  model.Node("NonZero", {"twice"}, {"where"}).Output("where");
  const InferredModel inferred = model.Infer();
  EXPECT_EQ(ShapeOf(inferred, "best"), Shape({7}));
  EXPECT_EQ(ShapeOf(inferred, "twice"), Shape({14, 8}));
  EXPECT_EQ(ShapeOf(inferred, "where"), Shape({2, 14 * 8}));
  EXPECT_EQ(NodeOf(inferred, "n_y/then/n_scores2").cost.work.macs(), Macs(7 * 8 * 8));
  for (const char* name :
       {"n_chosen", "n_best", "n_y", "n_y/then/n_scores2", "n_twice", "n_where"}) {
    EXPECT_TRUE(NodeOf(inferred, name).upper_bound) << name;
  }
  InferOptions options;
  AddBranch(options.control, "n_y=else");
  EXPECT_EQ(ShapeOf(Infer(model.Read(), options), "y"), Shape({1, 8})) << "nothing was found";
}

// A Loop in an If whose condition is open, and an If in it that takes another way in the last of
// four iterations: ONNX Runtime 1.31 runs the product three times.
TEST(Detections, AnIfInALoopInAnIf) {
  SmallModel costly, cheap, loop_body, outer, other;
  costly.Node("MatMul", {"h", "w"}, {"a1"}).Output("a1");
  cheap.Node("Identity", {"h"}, {"a2"}).Output("a2");
  loop_body.Input("i", {}, onnx::TensorProto::INT64).Input("c", {}, onnx::TensorProto::BOOL);
  loop_body.Input("h", {4, 8}).Node("Less", {"i", "three"}, {"go"});
  loop_body.Node("Equal", {"i", "three"}, {"last"});
  onnx::NodeProto& inner = loop_body.AddNode("If", {"last"}, {"h2"});
  SetGraph(inner, "then_branch", cheap);
  SetGraph(inner, "else_branch", costly);
  loop_body.Output("go").Output("h2");
  SetGraph(outer.AddNode("Loop", {"most", "", "x"}, {"y1"}), "body", loop_body);
  outer.Output("y1");
  other.Node("Relu", {"x"}, {"y2"}).Output("y2");
  SmallModel model;
  model.Input("x", {4, 8}).Input("open", {}, onnx::TensorProto::BOOL).Weight("w", {8, 8});
  model.Scalar("most", kMax).Scalar("three", 3);
  onnx::NodeProto& node = model.AddNode("If", {"open"}, {"y"});
  SetGraph(node, "then_branch", outer);
  SetGraph(node, "else_branch", other);
  model.Output("y");
  const InferredModel inferred = model.Infer();
  const CountedNode& product = NodeOf(inferred, "n_y/then/n_y1/n_h2/else/n_a1");
  EXPECT_EQ(product.cost.work.macs(), Macs(3 * 256));
  EXPECT_EQ(product.repeat, Count(3));
  EXPECT_TRUE(product.upper_bound) << "the outer condition is open";
  EXPECT_EQ(NodeOf(inferred, "n_y/then/n_y1/n_h2/then/n_a2").repeat, Count(1));
}

}  // namespace
}  // namespace dlcost
