#include "estimator/infer/binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

std::string BindingError(const SmallModel& model, const Bindings& bindings = {}) {
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

void AddConcat(SmallModel& model, std::vector<std::string> inputs, const std::string& output,
               std::int64_t axis) {
  SetInt(model.AddNode("Concat", std::move(inputs), {output}), "axis", axis);
}

// Two inputs with the same symbols.
SmallModel Sum() {
  SmallModel model;
  model.Input("a", {"N", "seq"})
      .Input("b", {"N", "seq"})
      .Node("Add", {"a", "b"}, {"y"})
      .Output("y");
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

TEST(Binding, SaysThatAnOverriddenBatchIsTheFilesOwn) {
  SmallModel model;
  model.Input("x", {1, 6})
      .Ints("flat", {1, 3, 2})
      .Node("Reshape", {"x", "flat"}, {"y"})
      .Output("y");
  Bindings bindings;
  bindings.batch = 2;
  EXPECT_THAT(BindingError(model, bindings),
              testing::EndsWith("(the file fixes the batch at 1; --batch 2 overrides it)"));
}

TEST(Binding, TheBatchIsBoundOnce) {
  Bindings named;
  AddDimBinding(named, "N=8");
  named.batch = 8;
  EXPECT_EQ(ShapeOf(Relu({"N", 3}).Infer(named), "y"), Shape({8, 3}));
  named.batch = 4;
  EXPECT_EQ(BindingError(Relu({"N", 3}), named),
            "test.onnx: --batch 4: dimension 'N' is 8 by another option; bind it once");
  Bindings shaped;
  AddInputBinding(shaped, "x:8x3");
  shaped.batch = 8;
  EXPECT_EQ(ShapeOf(Relu({1, 3}).Infer(shaped), "y"), Shape({8, 3}));
  shaped.batch = 4;
  EXPECT_EQ(BindingError(Relu({1, 3}), shaped),
            "test.onnx: --batch 4: --input gives 'x' 8 as its first dimension; bind it once");
}

// Nodes of one graph are no batch: what --dim says of them holds.
TEST(Binding, WhatComesFirstAndIsNoBatchStays) {
  Bindings bindings;
  AddDimBinding(bindings, "num_nodes=1000");
  bindings.batch = 1;
  EXPECT_EQ(ShapeOf(Relu({"num_nodes", 3}).Infer(bindings), "y"), Shape({1000, 3}));
  bindings.batch = 4;
  EXPECT_EQ(BindingError(Relu({"num_nodes", 3}), bindings),
            "test.onnx: --batch 4: no input has a batch dimension");
}

TEST(Binding, TellsABatchThatOtherOptionsBind) {
  const auto bound = [](const Bindings& bindings) -> std::string {
    Model model = Relu({"N", "seq"}).Read();
    const std::optional<BatchDim> batch = BatchBoundApart(model, bindings);
    return batch ? batch->key + "=" + std::to_string(batch->size) : "open";
  };
  Bindings length;
  AddDimBinding(length, "seq=16");
  EXPECT_EQ(bound(length), "open");
  AddDimBinding(length, "N=8");
  EXPECT_EQ(bound(length), "N=8");
  Bindings shape;
  AddInputBinding(shape, "x:2x16");
  EXPECT_EQ(bound(shape), "N=2");
}

TEST(Binding, AnythingElseUnboundIsAnErrorThatHelps) {
  EXPECT_EQ(BindingError(Relu({"N", "seq"})),
            "test.onnx: unbound dimensions: 'seq' (x); bind them, for example: --dim seq=128");
  EXPECT_EQ(BindingError(Relu({"N", 3, ""})),
            "test.onnx: unbound dimensions: 'x[2]' (x); bind them, for example: --dim 'x[2]=128'");
}

TEST(Binding, WhatSaysNothingIsASizeOfItsOwn) {
  for (const char* name : {"?", "", "None", "-1", "dynamic"}) {
    const SmallModel model = Relu({"N", 3, name, name});
    EXPECT_EQ(BindingError(model),
              "test.onnx: unbound dimensions: 'x[2]' (x), 'x[3]' (x); bind them, "
              "for example: --dim 'x[2]=224' --dim 'x[3]=224'")
        << name;
    Bindings bindings;
    AddDimBinding(bindings, "x[2]=48");
    AddDimBinding(bindings, "x[3]=192");
    EXPECT_EQ(ShapeOf(model.Infer(bindings), "y"), Shape({1, 3, 48, 192})) << name;
    Bindings whole;
    AddInputBinding(whole, "x:2x3x48x192");
    EXPECT_EQ(ShapeOf(model.Infer(whole), "y"), Shape({2, 3, 48, 192})) << name;
  }
  Bindings both;
  AddDimBinding(both, "?=48");
  EXPECT_EQ(BindingError(Relu({"N", 3, "?", "?"}), both),
            "test.onnx: --dim ?: 2 dimensions are written so, each of its own size: x[2], x[3]");
  EXPECT_EQ(ShapeOf(Relu({"N", "?"}).Infer(both), "y"), Shape({1, 48}));
}

TEST(Binding, AnAxisNamesItsSymbol) {
  const SmallModel model = Sum();
  Bindings bindings;
  AddDimBinding(bindings, "b[1]=7");
  EXPECT_EQ(ShapeOf(model.Infer(bindings), "y"), Shape({1, 7}));
  AddDimBinding(bindings, "seq=8");
  EXPECT_EQ(BindingError(model, bindings),
            "test.onnx: --dim seq: dimension 'seq' is 8 here and 7 elsewhere");
  Bindings fixed;
  AddDimBinding(fixed, "x[1]=7");
  EXPECT_EQ(BindingError(Relu({"N", 3}), fixed),
            "test.onnx: --dim x[1]: the file fixes this axis at 3; --input sets a whole shape");
}

TEST(Binding, NumbersOfExportersAreNamedByTheirAxis) {
  const SmallModel model = Relu({"unk__1915", "unk__1916"});
  EXPECT_EQ(BindingError(model),
            "test.onnx: unbound dimensions: 'x[1]' (x, unk__1916); bind them, for "
            "example: --dim 'x[1]=128'");
  Bindings bindings;
  AddDimBinding(bindings, "unk__1916=9");
  const InferredModel inferred = model.Infer(bindings);
  EXPECT_EQ(ShapeOf(inferred, "y"), Shape({1, 9}));
  EXPECT_EQ(inferred.notes, std::vector<std::string>{"x[0] = 1 by default; set it with --batch N"});
}

TEST(Binding, NodesAreNoBatch) {
  for (const char* name : {"num_nodes", "num_edges", "num_atoms", "n_points", "frames", "time"}) {
    EXPECT_EQ(BindingError(Relu({name, 85})), std::string("test.onnx: unbound dimensions: '") +
                                                  name + "' (x); bind them, for example: --dim " +
                                                  name + "=128");
  }
}

SmallModel MaskedDecoder(const char* mask) {
  SmallModel model;
  model.Input("past", {"batch", "past_length"}).Input("ids", {"batch", "length"});
  model.Input("mask", {"batch", mask});
  AddConcat(model, {"past", "ids"}, "all", 1);
  model.Node("Add", {"all", "mask"}, {"y"}).Output("y");
  return model;
}

TEST(Binding, ExpressionsFollowFromTheirParts) {
  const SmallModel model = MaskedDecoder("past_length + length");
  Bindings parts;
  AddDimBinding(parts, "past_length=100");
  AddDimBinding(parts, "length=7");
  EXPECT_EQ(ShapeOf(model.Infer(parts), "y"), Shape({1, 107}));
  Bindings rest;
  AddInputBinding(rest, "mask:2x107");
  AddDimBinding(rest, "length=7");
  const InferredModel solved = model.Infer(rest);
  EXPECT_EQ(solved.dims.symbols.at("past_length"), 100);
  EXPECT_EQ(ShapeOf(solved, "y"), Shape({2, 107}));
  AddDimBinding(parts, "past_length + length=108");
  EXPECT_EQ(BindingError(model, parts),
            "test.onnx: dimension 'past_length + length' is 108, but its parts make 107");
}

TEST(Binding, SuggestionsFitTogether) {
  EXPECT_EQ(BindingError(MaskedDecoder("past_length + length")),
            "test.onnx: unbound dimensions: 'past_length' (past), 'length' (ids), 'past_length + "
            "length' (mask); bind them, for example: --dim past_length=128 --dim length=128");
  // Exporters write a sum in names that no input has.
  EXPECT_EQ(
      BindingError(MaskedDecoder("past_len + len")),
      "test.onnx: unbound dimensions: 'past_length' (past), 'length' (ids), 'past_len + len' "
      "(mask); bind them, for example: --dim past_length=128 --dim length=128 --dim 'past_len "
      "+ len=256'");
  SmallModel total;
  total.Input("past", {"batch", "past_sequence"}).Input("ids", {"batch", "sequence"});
  total.Input("mask", {"batch", "total_sequence"});
  AddConcat(total, {"past", "ids"}, "all", 1);
  total.Node("Add", {"all", "mask"}, {"y"}).Output("y");
  EXPECT_EQ(BindingError(total),
            "test.onnx: unbound dimensions: 'past_sequence' (past), 'sequence' (ids), "
            "'total_sequence' (mask); bind them, for example: --dim past_sequence=128 --dim "
            "sequence=128 --dim total_sequence=256");
}

TEST(Binding, SuggestionsAreTried) {
  // The second axis of the state is the batch of x.
  SmallModel model;
  model.Input("x", {"", 128}).Input("state", {2, "", 128});
  model.Ints("shape", {1, 2, 128}).Node("Add", {"x", "state"}, {"sum"});
  model.Node("Reshape", {"sum", "shape"}, {"y"}).Output("y");
  EXPECT_EQ(BindingError(model),
            "test.onnx: unbound dimensions: 'state[1]' (state); bind them, for "
            "example: --dim 'state[1]=1'");
  SmallModel never;
  never.Input("x", {"seq"}).Ints("shape", {7919}).Node("Reshape", {"x", "shape"}, {"y"});
  never.Output("y");
  EXPECT_EQ(BindingError(never),
            "test.onnx: unbound dimensions: 'seq' (x); bind each of them with --dim NAME=N or "
            "--input NAME:SHAPE (no sizes that fit together were found)");
}

TEST(Binding, SuggestionsAreQuoted) {
  EXPECT_EQ(BindingError(Relu({"N", "it's so"})),
            "test.onnx: unbound dimensions: 'it's so' (x); bind them, for example: --dim 'it'\\''s "
            "so=128'");
  EXPECT_EQ(BindingError(Relu({"N", "-dash"})),
            "test.onnx: unbound dimensions: '-dash' (x); bind them, for example: --dim=-dash=128");
}

TEST(Binding, InputsBindTheSymbolsTheyShare) {
  const SmallModel model = Sum();
  Bindings bindings;
  AddInputBinding(bindings, "a:2x7");
  EXPECT_EQ(ShapeOf(model.Infer(bindings), "y"), Shape({2, 7}));
  AddInputBinding(bindings, "b:2x8");
  EXPECT_EQ(BindingError(model, bindings),
            "test.onnx: --input b: dimension 'seq' is 8 here and 7 elsewhere");
}

TEST(Binding, NamesAreChecked) {
  Bindings dims;
  AddDimBinding(dims, "sek=7");
  EXPECT_EQ(BindingError(Relu({"N", "seq"}), dims),
            "test.onnx: --dim sek: no input has a dimension of that name (did you mean 'seq'?); "
            "there are: N, seq");
  Bindings inputs;
  AddInputBinding(inputs, "xx:1x3");
  EXPECT_EQ(BindingError(Relu({"N", 3}), inputs),
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
  EXPECT_EQ(BindingError(model, bindings),
            "test.onnx: --value shap: the model has no such input (did you mean 'shape'?); it has: "
            "x, shape");
}

}  // namespace
}  // namespace dlcost
