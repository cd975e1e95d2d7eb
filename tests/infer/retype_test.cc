#include "estimator/infer/retype.h"

#include <gtest/gtest.h>

#include "estimator/infer/memory.h"
#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

// x [4,8] MatMul w [8,16] -> Softmax -> y; ids [4] gathers rows of an embedding.
InferredModel TypedModel() {
  SmallModel model;
  model.Input("x", {4, 8})
      .Input("ids", {4}, onnx::TensorProto::INT64)
      .Weight("w", {8, 16})
      .Weight("table", {100, 16})
      .Node("MatMul", {"x", "w"}, {"a"})
      .Node("Gather", {"table", "ids"}, {"e"})
      .Node("Add", {"a", "e"}, {"b"})
      .Node("Softmax", {"b"}, {"y"})
      .Output("y");
  return model.Infer();
}

const CountedNode& Find(const InferredModel& model, const std::string& op) {
  for (const CountedNode& node : model.nodes) {
    if (node.node->op == op) return node;
  }
  throw Error("no {}", op);
}

TEST(Retype, BytesAndWorkFollowAFloatingPointType) {
  InferredModel model = TypedModel();
  const InferredModel before = TypedModel();
  Retype(model, DType::kFloat16);
  const OpCost& product = Find(model, "MatMul").cost;
  EXPECT_EQ(product.work.Of(OpClass::kMac, DType::kFloat16), Count(4 * 8 * 16));
  EXPECT_EQ(product.work.Of(OpClass::kMac, DType::kFloat32), Count(0));
  EXPECT_EQ(product.BytesRead(), Bytes(2 * (4 * 8 + 8 * 16)));
  // Indices keep their eight bytes.
  EXPECT_EQ(Find(model, "Gather").cost.BytesRead(), Bytes(4 * 8 + 2 * 4 * 16));
  EXPECT_EQ(Find(model, "Softmax").cost.work.Of(OpClass::kExp, DType::kFloat16), Count(4 * 16));
  EXPECT_EQ(model.parameters, before.parameters);
  EXPECT_EQ(model.weight_bytes, Bytes(2 * (8 * 16 + 100 * 16)));
  EXPECT_LT(PeakActivations(model), PeakActivations(before));
}

TEST(Retype, OnlyProductsMoveToIntegers) {
  InferredModel model = TypedModel();
  const InferredModel before = TypedModel();
  Retype(model, DType::kInt8);
  EXPECT_EQ(Find(model, "MatMul").cost.work.Of(OpClass::kMac, DType::kInt8), Count(4 * 8 * 16));
  EXPECT_EQ(Find(model, "MatMul").cost.BytesRead(), Bytes(4 * 8 + 8 * 16));
  EXPECT_EQ(Find(model, "Softmax").cost.work.Of(OpClass::kExp, DType::kFloat32), Count(4 * 16));
  EXPECT_EQ(model.parameters, before.parameters);
  EXPECT_EQ(model.weight_bytes, Bytes(8 * 16 + 100 * 16));
}

TEST(Retype, SubByteTypesRoundUpToBytes) {
  InferredModel model = TypedModel();
  Retype(model, DType::kInt4);
  EXPECT_EQ(model.weight_bytes, Bytes((8 * 16 + 100 * 16) / 2));
}

TEST(Retype, NoTypeToComputeInIsAnError) {
  InferredModel model = TypedModel();
  EXPECT_THROW(Retype(model, DType::kString), Error);
  EXPECT_THROW(Retype(model, DType::kBool), Error);
}

}  // namespace
}  // namespace dlcost
