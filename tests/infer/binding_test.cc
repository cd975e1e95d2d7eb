#include "estimator/infer/binding.h"

#include <gtest/gtest.h>

#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

std::string MessageOf(const SmallModel& model, const Bindings& bindings = {}) {
  try {
    model.Infer(bindings);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

SmallModel Relu(std::vector<SmallModel::Extent> dims) {
  SmallModel model;
  model.Input("x", std::move(dims)).Node("Relu", {"x"}, {"y"}).Output("y");
  return model;
}

TEST(Binding, AnOpenBatchIsOneWithANote) {
  const InferredModel model = Relu({"N", 3}).Infer();
  EXPECT_EQ(ShapeOf(model, "y"), Shape({1, 3}));
  EXPECT_EQ(model.notes, std::vector<std::string>{"N = 1 by default; set it with --batch N"});
}

TEST(Binding, BatchBindsSymbolsAndUnnamedFirstDimensions) {
  Bindings bindings;
  bindings.batch = 4;
  EXPECT_EQ(ShapeOf(Relu({"N", 3}).Infer(bindings), "y"), Shape({4, 3}));
  EXPECT_EQ(ShapeOf(Relu({"", 3}).Infer(bindings), "y"), Shape({4, 3}));
  EXPECT_TRUE(Relu({"N", 3}).Infer(bindings).notes.empty());
}

TEST(Binding, BatchOverridesAFixedOneWithANote) {
  Bindings bindings;
  bindings.batch = 4;
  const InferredModel model = Relu({1, 3}).Infer(bindings);
  EXPECT_EQ(ShapeOf(model, "y"), Shape({4, 3}));
  EXPECT_EQ(model.notes,
            std::vector<std::string>{"the file fixes the batch at 1; --batch 4 overrides it"});
}

TEST(Binding, AnythingElseUnboundIsAnErrorThatHelps) {
  EXPECT_EQ(MessageOf(Relu({"N", "seq"})),
            "test.onnx: unbound dimensions: 'seq' (x); bind them, for example: --dim seq=128");
  EXPECT_EQ(MessageOf(Relu({"N", 3, ""})),
            "test.onnx: unbound dimensions: 'axis 2' (x); bind them, for example: --input "
            "x:1x3x128");
}

TEST(Binding, InputsBindTheSymbolsTheyShare) {
  SmallModel model;
  model.Input("a", {"N", "seq"})
      .Input("b", {"N", "seq"})
      .Node("Add", {"a", "b"}, {"y"})
      .Output("y");
  Bindings bindings;
  AddInputBinding(bindings, "a:2x7");
  EXPECT_EQ(ShapeOf(model.Infer(bindings), "y"), Shape({2, 7}));
  AddInputBinding(bindings, "b:2x8");
  EXPECT_EQ(MessageOf(model, bindings),
            "test.onnx: --input b: dimension 'seq' is 8 here and 7 elsewhere");
}

TEST(Binding, NamesAreChecked) {
  Bindings dims;
  AddDimBinding(dims, "sek=7");
  EXPECT_EQ(MessageOf(Relu({"N", "seq"}), dims),
            "test.onnx: --dim sek: no input has a dimension of that name (did you mean 'seq'?); "
            "there are: N, seq");
  Bindings inputs;
  AddInputBinding(inputs, "xx:1x3");
  EXPECT_EQ(MessageOf(Relu({"N", 3}), inputs),
            "test.onnx: --input xx: the model has no such input (did you mean 'x'?); it has: x");
}

TEST(Binding, TextsAreParsed) {
  Bindings bindings;
  AddInputBinding(bindings, "a:b:1x2x3");
  EXPECT_EQ(bindings.inputs["a:b"], (std::vector<std::int64_t>{1, 2, 3}));
  AddInputBinding(bindings, "scalar:");
  EXPECT_TRUE(bindings.inputs["scalar"].empty());
  for (const char* wrong : {"x", "=3", "x=", "x=-1", "x=3.5", "x=99999999999999999999"}) {
    EXPECT_THROW(AddDimBinding(bindings, wrong), Error) << wrong;
  }
  for (const char* wrong : {"x", ":3", "x:axb", "x:1xx2", "x:-1"}) {
    EXPECT_THROW(AddInputBinding(bindings, wrong), Error) << wrong;
  }
}

TEST(Binding, ValuesOfInputsResolveShapes) {
  SmallModel model;
  model.Input("x", {2, 6}).Input("shape", {"rank"}, onnx::TensorProto::INT64);
  model.Node("Reshape", {"x", "shape"}, {"y"}).Output("y");
  Bindings bindings;
  AddValueBinding(bindings, "shape=3,-1");
  EXPECT_EQ(ShapeOf(model.Infer(bindings), "y"), Shape({3, 4}));
  EXPECT_THROW(AddValueBinding(bindings, "shape"), Error);
  EXPECT_THROW(AddValueBinding(bindings, "shape=a"), Error);
  AddValueBinding(bindings, "shap=1");
  EXPECT_EQ(MessageOf(model, bindings),
            "test.onnx: --value shap: the model has no such input (did you mean 'shape'?); it has: "
            "x, shape");
}

}  // namespace
}  // namespace dlcost
