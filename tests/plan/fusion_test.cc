#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/plan/pattern.h"
#include "estimator/plan/patterns.h"
#include "tests/infer/small_model.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

TEST(Fusion, BertLayerAsAnEngineerWouldListIt) {
  const Plan plan = PlanWith(Export("bert_torchscript", {{"sequence", 16}}), Fusion::kDefault);
  const std::vector<std::string> labels = Labels(plan);
  const std::vector<std::string> layer = {
      "mat_mul + add",      "mat_mul + add",       "mat_mul + add",        "attention",
      "mat_mul + add x2",   "layer_normalization", "mat_mul + add + gelu", "mat_mul + add x2",
      "layer_normalization"};
  ASSERT_GE(labels.size(), 2 + 2 * layer.size());
  EXPECT_EQ(labels[1], "gather x2 + add x2 + layer_normalization");
  EXPECT_THAT(std::vector<std::string>(labels.begin() + 2, labels.begin() + 11),
              ElementsAreArray(layer));
  EXPECT_THAT(std::vector<std::string>(labels.begin() + 11, labels.begin() + 20),
              ElementsAreArray(layer));
}

TEST(Fusion, DynamoBertHasTheSameKernels) {
  const Plan plan = PlanWith(Export("bert_dynamo", {{"seq", 16}}), Fusion::kDefault);
  EXPECT_EQ(CountLabels(plan, "attention"), 2);
  EXPECT_EQ(CountLabels(plan, "softmax"), 0);
  EXPECT_EQ(CountLabels(plan, "mat_mul + add + gelu"), 2);
  EXPECT_FALSE(std::get<AttentionNest>(KernelOf(plan, "attention").nest).causal);
}

struct AttentionCase {
  std::string name;
  Dims dims;
  int attentions, causal;
};

class Attention : public testing::TestWithParam<AttentionCase> {};

TEST_P(Attention, EveryOneIsRecognized) {
  const AttentionCase& c = GetParam();
  const InferredModel model = Export(c.name, c.dims);
  const Plan plan = PlanWith(model, Fusion::kDefault);
  int attentions = 0, causal = 0;
  for (const Kernel& kernel : plan.kernels) {
    const auto* nest = std::get_if<AttentionNest>(&kernel.nest);
    if (nest == nullptr) continue;
    ++attentions;
    causal += nest->causal;
    // The nest does the multiply-accumulates of the nodes.
    EXPECT_EQ(
        nest->batch * nest->q_heads * nest->q_len * nest->kv_len * (nest->qk_dim + nest->v_dim),
        kernel.work.Of(OpClass::kMac));
  }
  EXPECT_EQ(attentions, c.attentions);
  EXPECT_EQ(causal, c.causal);
  EXPECT_EQ(CountLabels(plan, "softmax"), 0);
  // Materialized: two products and a softmax each.
  PlanOptions options;
  options.fusion = Fusion::kDefault;
  options.attention = AttentionForm::kMaterialized;
  if (c.name != "attention_opset23") {
    EXPECT_EQ(CountLabels(MakePlan(model, options), "softmax"), c.attentions);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Exports, Attention,
    testing::Values(AttentionCase{"bert_torchscript", {{"sequence", 16}}, 2, 0},
                    AttentionCase{"bert_dynamo", {{"seq", 16}}, 2, 0},
                    AttentionCase{"bert_qdq", {{"sequence", 16}}, 2, 0},
                    AttentionCase{"gpt2_torchscript", {{"sequence", 16}}, 2, 2},
                    AttentionCase{"gpt2_cache_torchscript",
                                  {{"sequence", 1}, {"past_sequence", 15}, {"total_sequence", 16}},
                                  2,
                                  2},
                    AttentionCase{"gpt2_dynamo", {{"seq", 16}}, 2, 2},
                    AttentionCase{"llama_gqa_dynamo", {{"seq", 16}}, 2, 2},
                    // Encoder and cross attention see everything, the decoder's own does not.
                    AttentionCase{"t5_torchscript", {{"enc", 16}, {"dec", 8}}, 6, 2},
                    AttentionCase{"attention_keras", {{"unk__1271", 2}}, 1, 0},
                    AttentionCase{"attention_opset23", {{"seq", 16}}, 1, 1}),
    [](const auto& test) { return test.param.name; });

TEST(Fusion, GroupedQueriesReadEachKeyOnce) {
  const Plan plan = PlanWith(Export("llama_gqa_dynamo", {{"seq", 16}}), Fusion::kDefault);
  const auto& nest = std::get<AttentionNest>(KernelOf(plan, "attention").nest);
  EXPECT_GT(nest.q_heads, nest.kv_heads);
  EXPECT_EQ(nest.q_heads % nest.kv_heads, Count(0));
  // The repeated heads are not written: Q, K, V in, one result out, one mask for all heads, and
  // a few scalars.
  const Kernel& kernel = KernelOf(plan, "attention");
  const Count head = nest.qk_dim * 16 * 4;
  EXPECT_EQ(kernel.bytes_written, Bytes(nest.q_heads * head));
  EXPECT_LE(kernel.bytes_read, Bytes((nest.q_heads + nest.kv_heads * 2) * head + 16 * 16 * 4 + 32));
  EXPECT_GE(kernel.bytes_read, Bytes((nest.q_heads + nest.kv_heads * 2) * head));
  EXPECT_EQ(CountLabels(plan, "rotary"), 4);
  EXPECT_EQ(CountLabels(plan, "rms_norm"), 5);
  EXPECT_EQ(CountLabels(plan, "silu"), 2);
}

// An Attention operator reads tokens as projections write them and each key for all heads that
// share it, as spelled out attention does: 2 of 4 heads of 8, 16 tokens.
TEST(Fusion, AttentionOperatorsReadHeadsAsTheyLie) {
  SmallModel small(23);
  small.Input("q", {1, 16, 4, 8}).Input("k", {1, 2, 1, 16, 8}).Input("v", {1, 4, 16, 8});
  small.Ints("repeated", {1, 2, 2, 16, 8}).Ints("heads", {1, 4, 16, 8}).Output("y");
  SetInts(small.AddNode("Transpose", {"q"}, {"qt"}), "perm", {0, 2, 1, 3});
  small.Node("Expand", {"k", "repeated"}, {"ke"}).Node("Reshape", {"ke", "heads"}, {"kr"});
  small.Node("Attention", {"qt", "kr", "v"}, {"a"});
  SetInts(small.AddNode("Transpose", {"a"}, {"y"}), "perm", {0, 2, 1, 3});
  const Plan plan = PlanWith(small.Infer(), Fusion::kDefault);
  ASSERT_THAT(Labels(plan), ElementsAre("attention"));
  const Kernel& kernel = KernelOf(plan, "attention");
  EXPECT_EQ(std::get<AttentionNest>(kernel.nest).kv_heads, Count(2));
  EXPECT_FALSE(kernel.spelled_attention);
  EXPECT_EQ(kernel.bytes_read, Bytes(4 * 16 * 8 * (4 + 2 + 4)));
  EXPECT_EQ(kernel.bytes_written, Bytes(4 * 16 * 8 * 4));
}

TEST(Fusion, CachesGrowInPlace) {
  const InferredModel model = Export(
      "gpt2_cache_torchscript", {{"sequence", 1}, {"past_sequence", 15}, {"total_sequence", 16}});
  const Plan plan = PlanWith(model, Fusion::kDefault);
  const Kernel& kernel = KernelOf(plan, "attention");
  const auto& nest = std::get<AttentionNest>(kernel.nest);
  EXPECT_EQ(nest.q_len, Count(1));
  EXPECT_EQ(nest.kv_len, Count(16));
  // Written: the result, one new key and one new value.
  EXPECT_EQ(kernel.bytes_written, Bytes(nest.q_heads * nest.v_dim * 3 * 4));
  EXPECT_EQ(CountLabels(plan, "concat"), 0);
}

TEST(Fusion, ConvolutionBetweenQuantizationsIsAnInt8Convolution) {
  const InferredModel model = Export("cnn_qdq");
  const Plan plan = PlanWith(model, Fusion::kDefault);
  int convolutions = 0;
  for (const Kernel& kernel : plan.kernels) {
    if (!std::holds_alternative<ConvNest>(kernel.nest)) continue;
    ++convolutions;
    EXPECT_EQ(Bits(kernel.math), 8) << kernel.label;
    EXPECT_GT(kernel.needed.Of(OpClass::kMac, kernel.math), Count(0));
  }
  EXPECT_GT(convolutions, 0);
  // A kernel for dequantizing remains at most at the model's end.
  EXPECT_LE(CountLabels(plan, "dequantize_linear"), 1);
}

TEST(Fusion, QuantizedWeightsMoveAtTheirStoredWidth) {
  SmallModel small;
  small.Input("x", {4, 64});
  auto* weight = small.proto().mutable_graph()->add_initializer();
  weight->set_name("w");
  weight->set_data_type(onnx::TensorProto::INT8);
  weight->add_dims(64);
  weight->add_dims(32);
  small.Weight("scale", {});
  small.Node("DequantizeLinear", {"w", "scale"}, {"wf"});
  small.Node("MatMul", {"x", "wf"}, {"y"}).Output("y");
  const InferredModel model = small.Infer();
  const Plan plan = PlanWith(model, Fusion::kDefault);
  const Kernel& kernel = KernelOf(plan, "mat_mul");
  EXPECT_EQ(kernel.bytes_read, Bytes(4 * 64 * 4 + 64 * 32 + 4));
  EXPECT_EQ(kernel.math, DType::kFloat32);  // activations are not quantized
}

TEST(Fusion, WhatOneKernelPassesToTheNextCanStayInACache) {
  SmallModel small;
  small.Input("x", {16, 64}).Weight("w", {64, 32}).Weight("v", {32, 8});
  small.Node("MatMul", {"x", "w"}, {"a"}).Node("Softmax", {"a"}, {"s"});
  small.Node("MatMul", {"s", "v"}, {"y"}).Output("y");
  const InferredModel model = small.Infer();
  const Bytes a(16 * 32 * 4);
  for (const Fusion fusion : {Fusion::kNone, Fusion::kDefault}) {
    const Plan plan = PlanWith(model, fusion);
    ASSERT_EQ(plan.kernels.size(), 3u);
    EXPECT_EQ(plan.kernels[0].bytes_passed, a);      // not the input, not the weights
    EXPECT_EQ(plan.kernels[1].bytes_passed, a + a);  // in and out
    EXPECT_EQ(plan.kernels[2].bytes_passed, a);      // not the model's output
    EXPECT_EQ(plan.kernels[0].bytes_weights, Bytes(64 * 32 * 4));
    EXPECT_EQ(plan.kernels[1].bytes_weights, Bytes(0));
    EXPECT_EQ(plan.kernels[2].bytes_weights, Bytes(32 * 8 * 4));
  }
}

TEST(Fusion, EpilogueOfAConvolution) {
  SmallModel small;
  small.Input("x", {1, 8, 16, 16}).Weight("w", {8, 8, 3, 3});
  for (const char* name : {"s", "b", "m", "v"}) small.Weight(name, {8});
  auto& conv = small.AddNode("Conv", {"x", "w"}, {"c"});
  auto* pads = conv.add_attribute();
  pads->set_name("pads");
  pads->set_type(onnx::AttributeProto::INTS);
  for (int i = 0; i < 4; ++i) pads->add_ints(1);
  small.Node("BatchNormalization", {"c", "s", "b", "m", "v"}, {"n"});
  small.Node("Add", {"n", "x"}, {"a"}).Node("Relu", {"a"}, {"y"}).Output("y");
  const InferredModel model = small.Infer();

  const Plan fused = PlanWith(model, Fusion::kDefault);
  EXPECT_THAT(Labels(fused), ElementsAre("conv + batch_normalization + add + relu"));
  const Bytes tensor(4 * 8 * 16 * 16), filter(4 * 8 * 8 * 9);
  EXPECT_EQ(fused.kernels[0].bytes_read, tensor + filter);  // x once, folded parameters never
  EXPECT_EQ(fused.kernels[0].bytes_written, tensor);
  // Folded into the weights, the normalization needs no work when the kernel runs.
  EXPECT_EQ(fused.kernels[0].needed.Of(OpClass::kMul), Count(0));
  EXPECT_GT(fused.kernels[0].work.Of(OpClass::kMul), Count(0));

  const Plan separate = PlanWith(model, Fusion::kNone);
  EXPECT_THAT(Labels(separate), ElementsAre("conv", "batch_normalization", "add", "relu"));
  // conv: x, w -> c; normalization: c and 4 x 8 parameters; add: two in, one out; relu.
  EXPECT_EQ(TotalBytes(separate), tensor * 9 + filter + Bytes(4 * 32));
}

TEST(Fusion, AValueThatOthersReadEndsItsKernel) {
  SmallModel small;
  small.Input("x", {4, 8}).Weight("w", {8, 8});
  small.Node("MatMul", {"x", "w"}, {"p"});
  small.Node("MatMul", {"p", "w"}, {"q"});  // reads p before the activation does
  small.Node("Relu", {"p"}, {"r"});
  small.Node("Add", {"q", "r"}, {"y"}).Output("y");
  const Plan plan = PlanWith(small.Infer(), Fusion::kDefault);
  // The activation beside the second product is computed in its epilogue.
  EXPECT_THAT(Labels(plan), ElementsAre("mat_mul", "relu + mat_mul + add"));
}

// What elementwise kernels read is read as it lies; a product of rows by one matrix wants a copy.
TEST(Fusion, TranspositionsAreViewsOfElementwiseKernels) {
  SmallModel small;
  small.Input("x", {4, 8, 16})
      .Weight("b", {16, 8, 4})
      .Weight("w", {4, 4})
      .Node("Transpose", {"x"}, {"t"})
      .Node("Mul", {"t", "b"}, {"m"})
      .Node("Transpose", {"x"}, {"u"})
      .Node("MatMul", {"u", "w"}, {"p"})
      .Output("m")
      .Output("p");
  const InferredModel model = small.Infer();
  PlanOptions options{.fusion = Fusion::kDefault, .fuses = {}};
  EXPECT_EQ(MakePlan(model, options).kernels.size(), 4U);
  options.fuses.Add(FusionStep::kViews);
  const Plan plan = MakePlan(model, options);
  EXPECT_THAT(Labels(plan), ElementsAre("mul", "transpose", "mat_mul"));
  EXPECT_EQ(KernelOf(plan, "mul").bytes(), Bytes(4LL * 3 * 4 * 8 * 16));
}

// A kernel lays what it makes as it leaves the model; what was given is copied into that order.
TEST(Fusion, WhatIsGivenLeavesByACopy) {
  for (const bool made : {false, true}) {
    SmallModel small;
    small.Input("x", {4, 8}).Node("Relu", {"x"}, {"r"}).Output("y").Output("r");
    SetInts(small.AddNode("Transpose", {made ? "r" : "x"}, {"y"}), "perm", {1, 0});
    EXPECT_EQ(CountLabels(PlanWith(small.Infer(), Fusion::kDefault), "transpose"), made ? 0 : 1);
  }
}

TEST(Fusion, MobileNetActivations) {
  const Plan plan = PlanWith(Export("mobilenet_v3_dynamo"), Fusion::kDefault);
  for (const std::string& label : Labels(plan)) {
    // Nothing elementwise is left alone except the gates of squeeze-and-excitation.
    EXPECT_EQ(label.rfind("hard_swish", 0), std::string::npos) << label;
    EXPECT_EQ(label.rfind("relu", 0), std::string::npos) << label;
  }
}

// As PyTorch exports it before opset 18: groups as channels of a view, then scale and shift of the
// channels that there are. One function of a framework, which reads and writes its data once.
TEST(Fusion, GroupNormalizationLooksThroughItsViews) {
  SmallModel model;
  model.Input("x", {2, 64, 8, 8}).Ints("groups", {0, 32, -1}).Ints("whole", {2, 64, 8, 8});
  model.Weight("s", {32}).Weight("b", {32}).Weight("scale", {64, 1, 1}).Weight("shift", {64, 1, 1});
  model.Node("Reshape", {"x", "groups"}, {"g"});
  model.Node("InstanceNormalization", {"g", "s", "b"}, {"n"});
  model.Node("Reshape", {"n", "whole"}, {"c"});
  model.Node("Mul", {"c", "scale"}, {"m"});
  model.Node("Add", {"m", "shift"}, {"y"});
  const InferredModel inferred = model.Output("y").Infer();
  for (const FusionSet fuses : {FusionSet(), FusionSet::Compilers()}) {
    const Plan plan = MakePlan(inferred, {.fusion = Fusion::kDefault, .fuses = fuses});
    EXPECT_THAT(Labels(plan), ElementsAre("group_norm"));
    const Kernel& kernel = KernelOf(plan, "group_norm");
    EXPECT_EQ(kernel.bytes_read, Bytes(4 * (2 * 64 * 64 + 2 * 32 + 2 * 64)));
    EXPECT_EQ(kernel.bytes_written, Bytes(4 * 2 * 64 * 64));
    EXPECT_EQ(kernel.model_views, Count(0));  // they are the function's own
  }
}

// What exporters write for Llama: PyTorch has a function for SiLU, but composes the normalization.
TEST(Fusion, ComposedFunctionsRunOneByOneWhereNothingFuses) {
  SmallModel model;
  model.Input("x", {4, 64}).Weight("scale", {64}).Floats("two", {2}).Floats("epsilon", {1e-6F});
  model.Node("Pow", {"x", "two"}, {"q"});
  SetInts(model.AddNode("ReduceMean", {"q"}, {"v"}), "axes", {-1});
  model.Node("Add", {"v", "epsilon"}, {"e"}).Node("Sqrt", {"e"}, {"r"});
  model.Node("Reciprocal", {"r"}, {"i"}).Node("Mul", {"x", "i"}, {"n"});
  model.Node("Mul", {"n", "scale"}, {"h"}).Node("Sigmoid", {"h"}, {"s"});
  model.Node("Mul", {"h", "s"}, {"y"});
  const InferredModel inferred = model.Output("y").Infer();
  const auto labels = [&](bool apart) {
    return Labels(MakePlan(
        inferred, {.fusion = Fusion::kDefault, .fuses = FusionSet(), .composed_apart = apart}));
  };
  EXPECT_THAT(labels(false), ElementsAre("rms_norm", "silu"));
  EXPECT_THAT(labels(true),
              ElementsAre("pow", "reduce_mean", "add", "rsqrt", "mul", "mul", "silu"));
}

TEST(Patterns, AllParse) {
  for (const NamedPattern& named : NamedPatterns()) EXPECT_NO_THROW(Pattern{named.text});
  EXPECT_THROW(Pattern("Mul(x"), Error);
  EXPECT_THROW(Pattern("x"), Error);
  EXPECT_THROW(Pattern("Mul(x,)"), Error);
  EXPECT_THROW(Pattern(""), Error);
}

// Each pattern in the form of its text, as a model of primitive nodes.
struct PatternCase {
  std::string what, expected;
  std::vector<std::tuple<std::string, std::vector<std::string>, std::string>> nodes;
};

class PrimitiveNodes : public testing::TestWithParam<PatternCase> {};

TEST_P(PrimitiveNodes, AreOneKernel) {
  SmallModel small(12);
  small.Input("x", {4, 16}).Weight("k", {16}).Weight("c", {16}).Weight("one", {1});
  for (const auto& [op, inputs, output] : GetParam().nodes) {
    auto& node = small.AddNode(op, inputs, {output});
    if (op.rfind("Reduce", 0) != 0) continue;
    auto* axes = node.add_attribute();
    axes->set_name("axes");
    axes->set_type(onnx::AttributeProto::INTS);
    axes->add_ints(-1);
  }
  small.Output("y");
  EXPECT_THAT(Labels(PlanWith(small.Infer(), Fusion::kDefault)), ElementsAre(GetParam().expected));
}

INSTANTIATE_TEST_SUITE_P(
    Written, PrimitiveNodes,
    testing::Values(
        PatternCase{"layer_norm",
                    "layer_norm",
                    {{"ReduceMean", {"x"}, "m"},
                     {"Sub", {"x", "m"}, "d"},
                     {"Pow", {"d", "c"}, "q"},
                     {"ReduceMean", {"q"}, "v"},
                     {"Add", {"v", "one"}, "e"},
                     {"Sqrt", {"e"}, "s"},
                     {"Div", {"d", "s"}, "n"},
                     {"Mul", {"n", "k"}, "g"},
                     {"Add", {"g", "k"}, "y"}}},
        PatternCase{"softmax",
                    "softmax",
                    {{"ReduceMax", {"x"}, "m"},
                     {"Sub", {"x", "m"}, "d"},
                     {"Exp", {"d"}, "e"},
                     {"ReduceSum", {"e"}, "s"},
                     {"Div", {"e", "s"}, "y"}}},
        PatternCase{"gelu_erf",
                    "gelu",
                    {{"Div", {"x", "c"}, "d"},
                     {"Erf", {"d"}, "e"},
                     {"Add", {"e", "c"}, "o"},
                     {"Mul", {"x", "o"}, "p"},
                     {"Mul", {"p", "c"}, "y"}}},
        PatternCase{"gelu_tanh_script",
                    "gelu",
                    {{"Mul", {"x", "x"}, "q"},
                     {"Mul", {"x", "q"}, "b"},
                     {"Mul", {"c", "b"}, "p"},
                     {"Add", {"x", "p"}, "a"},
                     {"Mul", {"c", "a"}, "r"},
                     {"Tanh", {"r"}, "t"},
                     {"Add", {"one", "t"}, "o"},
                     {"Mul", {"x", "o"}, "h"},
                     {"Mul", {"c", "h"}, "y"}}},
        PatternCase{"gelu_tanh_dynamo",
                    "gelu",
                    {{"Pow", {"x", "one"}, "b"},
                     {"Mul", {"c", "b"}, "p"},
                     {"Add", {"x", "p"}, "a"},
                     {"Mul", {"c", "a"}, "r"},
                     {"Tanh", {"r"}, "t"},
                     {"Add", {"t", "one"}, "o"},
                     {"Mul", {"c", "o"}, "h"},
                     {"Mul", {"x", "h"}, "y"}}},
        PatternCase{"silu", "silu", {{"Sigmoid", {"x"}, "s"}, {"Mul", {"s", "x"}, "y"}}},
        PatternCase{"mish",
                    "mish",
                    {{"Softplus", {"x"}, "s"}, {"Tanh", {"s"}, "t"}, {"Mul", {"x", "t"}, "y"}}}),
    [](const auto& test) { return test.param.what; });

}  // namespace
}  // namespace dlcost
