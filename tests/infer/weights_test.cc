// Parameters and weight bytes, against sums of the tensors that each model stores.

#include <gtest/gtest.h>

#include "estimator/infer/memory.h"
#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

constexpr int kF32 = onnx::TensorProto::FLOAT, kI64 = onnx::TensorProto::INT64,
              kI32 = onnx::TensorProto::INT32, kI8 = onnx::TensorProto::INT8,
              kU32 = onnx::TensorProto::UINT32, kU8 = onnx::TensorProto::UINT8,
              kBool = onnx::TensorProto::BOOL;
constexpr int kI4 = 22;  // INT4, younger than the proto
constexpr const char* kOrt = "com.microsoft";

void ExpectWeights(const InferredModel& model, std::int64_t parameters, std::int64_t bytes) {
  EXPECT_EQ(model.parameters, Count(parameters));
  EXPECT_EQ(model.weight_bytes, Bytes(bytes));
}

void SetTo(onnx::NodeProto& cast, int type) { SetInt(cast, "to", type); }

// W [1,3,8], R [1,2,8] in i8, B [1,16], each with a scale [1] and a zero point [1].
TEST(Weights, OfAQuantizedLstm) {
  SmallModel model;
  model.Input("x", {4, 1, 3}).Weight("w", {1, 3, 8}, kI8).Weight("r", {1, 2, 8}, kI8);
  model.Weight("b", {1, 16}).Weight("lengths", {1}, kI32);
  for (const char* scale : {"ws", "rs"}) model.Weight(scale, {1});
  for (const char* zero : {"wz", "rz"}) model.Weight(zero, {1}, kI8);
  auto& lstm =
      model.AddNodeOf(kOrt, "DynamicQuantizeLSTM",
                      {"x", "w", "r", "b", "lengths", "", "", "", "ws", "wz", "rs", "rz"}, {"y"});
  SetInt(lstm, "hidden_size", 2);
  model.Output("y");
  ExpectWeights(model.Infer(), 24 + 16 + 16 + 4, 24 + 16 + 64 + 2 * 4 + 2);
}

TEST(Weights, OfQuantizedAttention) {
  SmallModel model;
  model.Input("x", {2, 6, 32}, kU8).Weight("w", {32, 96}, kI8).Weight("b", {96});
  model.Weight("xs", {}).Weight("ws", {}).Weight("lengths", {2}, kI32);
  model.Weight("xz", {}, kU8).Weight("wz", {}, kI8);
  auto& node = model.AddNodeOf(kOrt, "QAttention",
                               {"x", "w", "b", "xs", "ws", "lengths", "xz", "wz"}, {"y"});
  SetInt(node, "num_heads", 4);
  model.Output("y");
  ExpectWeights(model.Infer(), 3072 + 96, 3072 + 4 * 96);
}

// Scales say how a node works, wherever they are stored.
TEST(Weights, OfAResizing) {
  SmallModel model;
  model.Input("x", {1, 2, 4, 4}).Floats("scales", {1, 1, 2, 2}).Floats("by", {2});
  model.Node("Resize", {"x", "", "scales"}, {"r"}).Node("Mul", {"r", "by"}, {"y"}).Output("y");
  ExpectWeights(model.Infer(), 1, 4);
}

// What rows are taken from becomes reals further on; the shape between is none.
TEST(Weights, OfATableThatIsDequantizedBehindItsGather) {
  SmallModel model;
  model.Input("ids", {6}, kI64).Weight("table", {100, 16}, kU8).Ints("shape", {2, 48});
  model.Weight("scale", {}).Weight("zero", {}, kU8);
  model.Node("Gather", {"table", "ids"}, {"rows"}).Node("Reshape", {"rows", "shape"}, {"flat"});
  model.Node("DequantizeLinear", {"flat", "scale", "zero"}, {"y"}).Output("y");
  ExpectWeights(model.Infer(), 1600, 1600);
}

// The same by hand: 8 bits that a Cast makes real.
TEST(Weights, OfATableThatIsCast) {
  SmallModel model;
  model.Input("ids", {6}, kI64).Weight("table", {100, 16}, kI8).Weight("scale", {16});
  model.Node("Gather", {"table", "ids"}, {"rows"});
  SetTo(model.AddNode("Cast", {"rows"}, {"reals"}), kF32);
  model.Node("Mul", {"reals", "scale"}, {"y"}).Output("y");
  ExpectWeights(model.Infer(), 1600 + 16, 1600 + 64);
}

// Codes of a few bits in words, taken out by shifts.
TEST(Weights, OfWordsThatAreShifted) {
  SmallModel model;
  model.Input("x", {2, 8}).Weight("words", {8, 4}, kU32).Weight("shifts", {8, 1, 4}, kU32);
  model.Ints("axis", {0}).Node("Unsqueeze", {"words", "axis"}, {"w1"});
  model.Node("BitShift", {"w1", "shifts"}, {"codes"});
  auto* direction = model.proto().mutable_graph()->mutable_node(1)->add_attribute();
  direction->set_name("direction");
  direction->set_type(onnx::AttributeProto::STRING);
  direction->set_s("RIGHT");
  SetTo(model.AddNode("Cast", {"codes"}, {"reals"}), kF32);
  model.Node("MatMul", {"x", "reals"}, {"y"}).Output("y");
  ExpectWeights(model.Infer(), 32, 128);
}

TEST(Weights, BehindFoldedNodesLeaveTheirShapesOut) {
  SmallModel model(21);
  model.Input("x", {2, 8}).Weight("w", {64}, kI4).Weight("scale", {});
  model.Ints("shape", {8, 8}).Node("Reshape", {"w", "shape"}, {"w2"});
  model.Node("DequantizeLinear", {"w2", "scale"}, {"w3"}).Node("MatMul", {"x", "w3"}, {"y"});
  model.Output("y");
  ExpectWeights(model.Infer(), 64, 32);
}

TEST(Weights, AreNotIndicesPositionsOrMasks) {
  SmallModel model;
  model.Input("ids", {4}, kI64).Input("x", {4, 8}).Weight("table", {10, 8});
  model.Weight("types", {50}, kI64).Weight("mask", {50, 8}, kU8).Weight("positions", {50}, kI32);
  model.Node("Gather", {"types", "ids"}, {"rows"}).Node("Gather", {"table", "rows"}, {"e"});
  model.Node("Gather", {"mask", "ids"}, {"m"}).Node("Gather", {"positions", "ids"}, {"p"});
  SetTo(model.AddNode("Cast", {"m"}, {"keep"}), kBool);
  SetTo(model.AddNode("Cast", {"p"}, {"where"}), kF32);
  model.Node("Where", {"keep", "e", "x"}, {"y"}).Output("y").Output("where");
  ExpectWeights(model.Infer(), 80, 320);
}

// Rows of 40 numbers in 2 blocks of 32: the bytes are padded, the numbers are not.
TEST(Weights, OfNBitsAreTheNumbersNotTheBytes) {
  SmallModel model;
  model.Input("x", {3, 40}).Weight("w", {6, 2, 16}, kU8).Weight("scales", {12});
  model.Weight("zeros", {6}, kU8).Weight("order", {64}, kI32);
  auto& node = model.AddNodeOf(kOrt, "MatMulNBits", {"x", "w", "scales", "zeros", "order"}, {"y"});
  SetInt(node, "K", 40);
  SetInt(node, "N", 6);
  SetInt(node, "bits", 4);
  SetInt(node, "block_size", 32);
  model.Output("y");
  ExpectWeights(model.Infer(), 240 + 12 + 12, 192 + 48 + 6);
}

TEST(Weights, OfAPackedTable) {
  SmallModel model;
  model.Input("ids", {2}, kI64).Weight("table", {100, 32}, kU8).Weight("scales", {100, 2});
  auto& node = model.AddNodeOf(kOrt, "GatherBlockQuantized", {"table", "ids", "scales"}, {"y"});
  SetInt(node, "block_size", 32);
  SetInt(node, "quantize_axis", 1);
  SetInt(node, "bits", 4);
  model.Output("y");
  ExpectWeights(model.Infer(), 6400 + 200, 3200 + 800);
}

TEST(Weights, OfPackedExperts) {
  SmallModel model;
  model.Input("x", {3, 8}).Input("router", {3, 4});
  model.Weight("fc1", {4, 16, 4}, kU8).Weight("s1", {4, 16});
  model.Weight("fc2", {4, 8, 8}, kU8).Weight("s2", {4, 8});
  auto& node = model.AddNodeOf(kOrt, "QMoE", {"x", "router", "fc1", "s1", "", "fc2", "s2"}, {"y"});
  SetInt(node, "k", 2);
  SetInt(node, "expert_weight_bits", 4);
  model.Output("y");
  ExpectWeights(model.Infer(), 512 + 512 + 96, 256 + 256 + 4 * 96);
}

// Quantized products keep their biases and zero points per channel, in whatever width.
TEST(Weights, OfAQuantizedConvolution) {
  SmallModel model;
  model.Input("x", {1, 2, 4, 4}, kU8).Weight("w", {3, 2, 3, 3}, kI8).Weight("b", {3}, kI32);
  model.Weight("s", {}).Weight("z", {}, kU8).Weight("ws", {3}).Weight("wz", {3}, kI8);
  model.Node("QLinearConv", {"x", "s", "z", "w", "ws", "wz", "s", "z", "b"}, {"y"}).Output("y");
  ExpectWeights(model.Infer(), 54 + 3 + 3 + 3, 54 + 12 + 3 + 12);
}

// Nobody knows how often the loop runs; what it captures, stores and makes is in memory all the
// same, and a note says so.
TEST(Weights, OfALoopThatCannotBeFollowed) {
  SmallModel body;
  body.Input("i", {}, kI64).Input("c", {}, kBool).Input("h", {4, 8}).Weight("b", {8});
  auto& constant = body.AddNode("Constant", {}, {"k"});
  auto* value = constant.add_attribute();
  value->set_name("value");
  value->set_type(onnx::AttributeProto::TENSOR);
  value->mutable_t()->set_data_type(kF32);
  value->mutable_t()->add_dims(4);
  value->mutable_t()->add_dims(8);
  body.Node("Identity", {"c"}, {"c2"}).Node("MatMul", {"h", "wt"}, {"h1"});
  body.Ints("axis", {0}).Node("Add", {"h1", "b"}, {"h2"}).Node("Mul", {"h2", "k"}, {"h3"});
  body.Node("ReduceSum", {"h3", "axis"}, {"s"}).Output("c2").Output("h3").Output("s");
  SmallModel model;
  model.Input("x", {4, 8}).Input("n", {}, kI64).Weight("w", {8, 8});
  model.Node("Transpose", {"w"}, {"wt"});
  SetGraph(model.AddNode("Loop", {"n", "", "x"}, {"y", "all"}), "body", body);
  model.Output("y").Output("all");
  const InferredModel inferred = model.Infer();
  EXPECT_EQ(NodeOf(inferred, "n_y").status, NodeStatus::kUnknown);
  ExpectWeights(inferred, 64 + 8 + 32, 4 * (64 + 8 + 32));
  ASSERT_FALSE(inferred.notes.empty());
  EXPECT_EQ(inferred.notes.front(),
            "104 parameters (416 bytes) are read by unknown nodes alone; weights and memory hold "
            "them");
}

// Reals and integers of 8 bits are what an operator without a definition computes with.
// f(a) = a w with w [4,4] in the function, or given by each call.
SmallModel CallingTwice(bool given) {
  SmallModel inside;
  onnx::AttributeProto& value = *inside.AddNode("Constant", {}, {"w"}).add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  onnx::TensorProto table;
  table.set_data_type(kF32);
  for (const int dim : {4, 4}) table.add_dims(dim);
  for (int i = 0; i < 16; ++i) table.add_float_data(0);
  if (given) {
    value.set_ref_attr_name("table");
  } else {
    *value.mutable_t() = table;
  }
  inside.Node("MatMul", {"a", "w"}, {"b"});
  SmallModel model;
  onnx::FunctionProto& function = *model.proto().add_functions();
  function.set_domain("my");
  function.set_name("f");
  function.add_input("a");
  function.add_output("b");
  function.add_opset_import()->set_version(17);
  *function.mutable_node() = inside.proto().graph().node();
  if (given) function.add_attribute("table");
  model.Input("x", {2, 4});
  for (const auto& [from, to] : {std::pair("x", "h"), std::pair("h", "y")}) {
    onnx::NodeProto& call = model.AddNodeOf("my", "f", {from}, {to});
    if (!given) continue;
    onnx::AttributeProto& attribute = *call.add_attribute();
    attribute.set_name("table");
    attribute.set_type(onnx::AttributeProto::TENSOR);
    *attribute.mutable_t() = table;
  }
  return model.Output("y");
}

TEST(Weights, OfAFunctionAreStoredOnce) {
  const InferredModel once = CallingTwice(false).Infer();
  ExpectWeights(once, 16, 64);
  EXPECT_EQ(MacsOf(once), Macs(2 * 2 * 4 * 4));
  ExpectWeights(CallingTwice(true).Infer(), 32, 128);
}

TEST(Weights, OfUnknownOperatorsAreWhatNobodyElseReads) {
  SmallModel model;
  model.Input("x", {2, 8}).Weight("w", {8, 8}).Weight("q", {3, 3}, kI8).Weight("i", {5}, kI64);
  model.Node("Mystery", {"x", "w", "q", "i"}, {"h"}).Node("MatMul", {"x", "w"}, {"y"});
  model.Output("h").Output("y");
  const InferredModel inferred = model.Infer();
  ExpectWeights(inferred, 64 + 9, 256 + 9);
  EXPECT_EQ(NodeOf(inferred, "n_h").parameters, Count(9));
  EXPECT_EQ(NodeOf(inferred, "n_y").parameters, Count(64));
}

// Past and present are one buffer: queries, keys, values, 2 caches of 8 positions, the output.
TEST(PeakMemory, ACacheGrowsInPlace) {
  SmallModel model(24);
  for (const char* name : {"q", "k", "v"}) model.Input(name, {1, 2, 1, 4});
  for (const char* name : {"pk", "pv"}) model.Input(name, {1, 2, 7, 4});
  model.Node("Attention", {"q", "k", "v", "", "pk", "pv"}, {"y", "ck", "cv"});
  model.Output("y").Output("ck").Output("cv");
  EXPECT_EQ(PeakActivations(model.Infer()), Bytes(4 * (3 * 8 + 2 * 64 + 8)));
}

}  // namespace
}  // namespace dlcost
