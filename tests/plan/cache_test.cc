// A key-value cache that grows moves the same bytes however a file writes it down: queries, new
// keys and values and the past are read; the output and the new rows are written.

#include <gtest/gtest.h>

#include "tests/infer/small_model.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

constexpr int kF16 = onnx::TensorProto::FLOAT16, kI32 = onnx::TensorProto::INT32;
constexpr int kHeads = 8, kPast = 100, kSize = 64;
// In f16: one row of all heads, and both caches with it.
constexpr std::int64_t kRow = 2 * kHeads * kSize, kBytes = 3 * kRow + 2 * kPast * kRow + 3 * kRow;

SmallModel WithCaches(bool packed) {
  SmallModel model(24);
  for (const char* name : {"q", "k", "v"}) {
    packed ? model.Input(name, {1, 1, kHeads * kSize}, kF16)
           : model.Input(name, {1, kHeads, 1, kSize}, kF16);
  }
  for (const char* name : {"pk", "pv"}) model.Input(name, {1, kHeads, kPast, kSize}, kF16);
  return model;
}

const std::vector<std::string> kResults = {"y", "ck", "cv"};

SmallModel CachedAttention() {
  SmallModel model = WithCaches(false);
  model.AddNode("Attention", {"q", "k", "v", "", "pk", "pv"}, kResults);
  return model;
}

SmallModel GroupQuery() {
  SmallModel model = WithCaches(true);
  model.Weight("lengths", {1}, kI32).Weight("total", {}, kI32);
  auto& node = model.AddNodeOf("com.microsoft", "GroupQueryAttention",
                               {"q", "k", "v", "pk", "pv", "lengths", "total"}, kResults);
  SetInt(node, "num_heads", kHeads);
  SetInt(node, "kv_num_heads", kHeads);
  return model;
}

SmallModel MultiHead() {
  SmallModel model = WithCaches(true);
  auto& node = model.AddNodeOf("com.microsoft", "MultiHeadAttention",
                               {"q", "k", "v", "", "", "", "pk", "pv"}, kResults);
  SetInt(node, "num_heads", kHeads);
  return model;
}

SmallModel Decomposed() {
  SmallModel model = WithCaches(false);
  SetInt(model.AddNode("Concat", {"pk", "k"}, {"ck"}), "axis", 2);
  SetInt(model.AddNode("Concat", {"pv", "v"}, {"cv"}), "axis", 2);
  SetInts(model.AddNode("Transpose", {"ck"}, {"kt"}), "perm", {0, 1, 3, 2});
  model.Node("MatMul", {"q", "kt"}, {"s"}).Node("Softmax", {"s"}, {"p"});
  model.Node("MatMul", {"p", "cv"}, {"y"});
  return model;
}

// As exporters write a cache in front of an operator that has none.
SmallModel Concatenated() {
  SmallModel model = WithCaches(false);
  SetInt(model.AddNode("Concat", {"pk", "k"}, {"ck"}), "axis", 2);
  SetInt(model.AddNode("Concat", {"pv", "v"}, {"cv"}), "axis", 2);
  model.Node("Attention", {"q", "ck", "cv"}, {"y"});
  return model;
}

Bytes MovedBy(SmallModel model, Fusion fusion) {
  for (const std::string& result : kResults) model.Output(result);
  return TotalBytes(PlanWith(model.Infer(), fusion));
}

TEST(Cache, GrowsInPlaceInEveryOperatorAtEveryFusion) {
  for (const Fusion fusion : {Fusion::kNone, Fusion::kDefault, Fusion::kIdeal}) {
    SCOPED_TRACE(Name(fusion));
    EXPECT_EQ(MovedBy(CachedAttention(), fusion), Bytes(kBytes));
    EXPECT_EQ(MovedBy(MultiHead(), fusion), Bytes(kBytes));
    // Besides, the lengths: one number each.
    EXPECT_EQ(MovedBy(GroupQuery(), fusion), Bytes(kBytes + 2 * 4));
  }
}

// Node by node, Concat copies: that is what --fusion none asks for.
TEST(Cache, GrowsInPlaceWhereAttentionIsRecognized) {
  EXPECT_EQ(MovedBy(Decomposed(), Fusion::kDefault), Bytes(kBytes));
  EXPECT_EQ(MovedBy(Decomposed(), Fusion::kIdeal), Bytes(kBytes));
  EXPECT_GT(MovedBy(Decomposed(), Fusion::kNone), Bytes(2 * kBytes));
  EXPECT_EQ(MovedBy(Concatenated(), Fusion::kDefault), Bytes(kBytes));
  EXPECT_GT(MovedBy(Concatenated(), Fusion::kNone), Bytes(2 * kBytes));
}

}  // namespace
}  // namespace dlcost
