#include "estimator/infer/custom_ops.h"

#include <gtest/gtest.h>

#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

constexpr const char* kFile =
    "operators:\n"
    "  - name: FusedProjection\n"
    "    domain: my.company\n"
    "    outputs:\n"
    "      - shape: [\"in0[0]\", \"in1[-1] * heads\"]\n"
    "      - shape: [\"ceil_div(in0[0], 4)\"]\n"
    "        dtype: i64\n"
    "    work:\n"
    "      mac: elements(out0) * in0[1]\n"
    "      exp: elements(out0)\n";

std::shared_ptr<const CustomOperators> Operators(const std::string& text) {
  auto operators = std::make_shared<CustomOperators>();
  operators->ReadText(text, "ops.yaml");
  return operators;
}

std::string OperatorsError(const std::string& text) {
  try {
    Operators(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

SmallModel Projection() {
  SmallModel model;
  auto* opset = model.proto().add_opset_import();
  opset->set_domain("my.company");
  opset->set_version(1);
  model.Input("x", {10, 8}).Weight("w", {8, 5});
  auto& node = model.AddNode("FusedProjection", {"x", "w"}, {"y", "z"});
  node.set_domain("my.company");
  auto* heads = node.add_attribute();
  heads->set_name("heads");
  heads->set_type(onnx::AttributeProto::INT);
  heads->set_i(2);
  model.Node("Relu", {"y"}, {"r"}).Output("r").Output("z");
  return model;
}

TEST(CustomOperators, ShapesAndCountsComeFromTheFile) {
  EXPECT_EQ(NodeOf(Projection().Infer(), "n_y").status, NodeStatus::kUnknown);
  InferOptions options;
  options.custom = Operators(kFile);
  const InferredModel model = Infer(Projection().Read(), options);
  EXPECT_EQ(ShapeOf(model, "r"), Shape({10, 10}));
  EXPECT_EQ(ShapeOf(model, "z"), Shape({3}));
  EXPECT_EQ(TensorOf(model, "z").type.dtype, DType::kInt64);
  const CountedNode& node = NodeOf(model, "n_y");
  EXPECT_EQ(node.status, NodeStatus::kCounted);
  EXPECT_EQ(node.cost.work.macs().value(), 800);
  EXPECT_EQ(node.cost.work.Of(OpClass::kExp).value(), 100);
  EXPECT_EQ(node.cost.BytesRead().value(), 4 * (80 + 40));
  EXPECT_EQ(node.cost.BytesWritten().value(), 4 * 100 + 8 * 3);
}

// A tokenizer's hashes, say: its file says what it does with text.
TEST(CustomOperators, MayComputeWithText) {
  SmallModel model;
  auto* opset = model.proto().add_opset_import();
  opset->set_domain("my.company");
  opset->set_version(1);
  model.Input("x", {8}, onnx::TensorProto::STRING);
  model.AddNode("Hash", {"x"}, {"y"}).set_domain("my.company");
  InferOptions options;
  options.custom = Operators(
      "operators:\n"
      "  - name: Hash\n"
      "    domain: my.company\n"
      "    outputs:\n"
      "      - shape: [\"in0[0]\"]\n"
      "        dtype: i64\n"
      "    work:\n"
      "      integer: elements(in0) * 16\n");
  const InferredModel inferred = Infer(model.Output("y").Read(), options);
  EXPECT_EQ(NodeOf(inferred, "n_y").cost.work.Of(OpClass::kInteger), Count(8 * 16));
}

TEST(CustomOperators, InferredModelsOutliveThem) {
  InferredModel model;
  {
    InferOptions options;
    options.custom = Operators(kFile);
    model = Infer(Projection().Read(), options);
  }
  EXPECT_EQ(NodeOf(model, "n_y").def->name, "FusedProjection");
  EXPECT_EQ(NodeOf(model, "n_y").def->domain, "my.company");
}

TEST(CustomOperators, FilesAreChecked) {
  EXPECT_EQ(OperatorsError("operators:\n  - nam: X\n"),
            "ops.yaml:2: unknown key 'nam' (did you mean 'name'?)");
  EXPECT_EQ(OperatorsError("operators:\n  - name: X\n    outputs: []\n"),
            "ops.yaml:2: 'work' must list operations, e.g. {mac: elements(out0) * in0[-1]}; {} for "
            "none");
  EXPECT_EQ(OperatorsError("operators:\n  - name: X\n    outputs: [{shape: [], dtype: f33}]\n"
                           "    work: {}\n"),
            "ops.yaml:3: 'f33' is no data type (f32, f16, ... or in0, in1, ...)");
  EXPECT_NE(OperatorsError("operators: [").find("ops.yaml:"), std::string::npos);
}

Count ValueOf(const std::string& text) {
  return Expression(text).Evaluate({.tensor =
                                        [](const std::string&) {
                                          return std::vector<std::int64_t>{2, 3, 5};
                                        },
                                    .number = [](const std::string&) { return Count(7); }});
}

TEST(CustomOperators, ExpressionsAreIntegers) {
  EXPECT_EQ(ValueOf("1 + 2 * 3 - 4 / 3").value(), 6);
  EXPECT_EQ(ValueOf("-(1 + 2) * 3").value(), -9);
  EXPECT_EQ(ValueOf("-7 / 2").value(), -4);
  EXPECT_EQ(ValueOf("-7 % 2").value(), 1);
  EXPECT_EQ(ValueOf("elements(in0) + in0[-1] + rank(in0) + n").value(), 45);
  EXPECT_EQ(ValueOf("max(min(4, 9), ceil_div(7, 2))").value(), 4);
  for (const char* bad : {"", "1 +", "1 / 0", "(1", "in0[9]", "f(1, 2)", "1 2",
                          "9223372036854775807 + 1", "99999999999999999999"}) {
    EXPECT_THROW(ValueOf(bad), Error) << bad;
  }
  EXPECT_THROW(ValueOf(std::string(100000, '(')), Error);
}

}  // namespace
}  // namespace dlcost
