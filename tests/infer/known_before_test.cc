// What is known before a run and still runs each time, and what is read through two inputs.

#include <gtest/gtest.h>

#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

// Positions [sequence] times a stored matrix, beside x[2,sequence,4].
SmallModel Positions(const SmallModel::Extent& sequence) {
  SmallModel model;
  model.Input("x", {2, sequence, 4}).Weight("w", {1, 4}).Ints("one", {1});
  model.Scalar("at", 1).Scalar("zero", 0).Scalar("step", 1);
  model.Node("Shape", {"x"}, {"sizes"}).Node("Gather", {"sizes", "at"}, {"length"});
  model.Node("Range", {"zero", "length", "step"}, {"r"});
  SetInt(model.AddNode("Cast", {"r"}, {"f"}), "to", onnx::TensorProto::FLOAT);
  model.Node("Unsqueeze", {"f", "one"}, {"column"}).Node("MatMul", {"column", "w"}, {"p"});
  return model.Node("Add", {"x", "p"}, {"y"}).Output("y");
}

Macs MacsOfSum(const InferredModel& model) {
  Macs macs;
  for (const CountedNode& node : model.nodes) macs += node.cost.work.macs();
  return macs;
}

// No runtime folds what follows from a size that the file leaves open.
TEST(KnownBefore, RunsWhereItFollowsFromAnOpenSize) {
  constexpr int kLong = 3000;  // more than is worth a value
  Bindings bindings;
  AddDimBinding(bindings, "s=3000");
  EXPECT_EQ(MacsOfSum(Positions("s").Infer(bindings)), Macs(kLong * 4));
  const InferredModel fixed = Positions(kLong).Infer();
  EXPECT_EQ(MacsOfSum(fixed), Macs(0));
  EXPECT_EQ(NodeOf(fixed, "n_p").folded_macs, Macs(kLong * 4));
}

TEST(KnownBefore, ReadsAnOperandOnce) {
  SmallModel model;
  model.Input("x", {4, 8}).Node("Mul", {"x", "x"}, {"y"}).Output("y");
  const InferredModel inferred = model.Infer();
  Bytes read;
  for (const Access& access : NodeOf(inferred, "n_y").cost.accesses) {
    if (!access.is_output) read += access.bytes;
  }
  EXPECT_EQ(read, Bytes(4 * 8 * 4));
}

}  // namespace
}  // namespace dlcost
