#include "estimator/precision/precision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "estimator/core/error.h"
#include "estimator/plan/kernel.h"
#include "estimator/training/step.h"
#include "models/networks/networks.h"
#include "tests/training/small_step.h"

namespace dlcost {
namespace {

DType TypeOf(const CountedNode& counted, std::size_t input) {
  return counted.graph->tensors[static_cast<std::size_t>(counted.node->inputs[input])].type.dtype;
}

TEST(Precision, AutocastKeepsWeightsAndStatesInFloat32) {
  const InferredModel step =
      StepOf(TwoLayers().Infer(), {.optimizer = "adam", .loss = "sum", .precision = "amp-fp16"});
  Bytes read, written;
  int casts = 0;
  for (const CountedNode& counted : step.nodes) {
    if (counted.node->phase != Phase::kCast) continue;
    ++casts;
    read += counted.cost.BytesRead();
    written += counted.cost.BytesWritten();
  }
  // One copy of each weight.
  EXPECT_EQ(casts, 2);
  EXPECT_EQ(read, Bytes(4 * 160));
  EXPECT_EQ(written, Bytes(2 * 160));
  EXPECT_EQ(step.weight_bytes, Bytes(4 * 160));
  // x and r in half, and the scale of the loss.
  EXPECT_EQ(step.step->saved_bytes, Bytes(2 * (4 * 8 + 4 * 16) + 4));
  EXPECT_EQ(step.step->gradient_bytes, Bytes(4 * 160));
  EXPECT_EQ(step.step->state_bytes, Bytes(2 * 4 * 160));
  EXPECT_EQ(step.step->master_bytes, Bytes(0));
  const CountedNode* unscale = Find(step, "Unscale");
  ASSERT_NE(unscale, nullptr);
  EXPECT_EQ(unscale->cost.BytesRead(), Bytes(4 + 4 * 160));
  EXPECT_EQ(unscale->cost.BytesWritten(), Bytes(4 * 160 + 4));
}

// At inference too: each pass copies the two weights, and keeps them stored in float32.
TEST(Precision, AutocastCopiesWeightsInEachPass) {
  const InferredModel model = InPrecision(TwoLayers().Infer(), FindPrecision("amp-fp16"), {});
  Bytes read, written;
  for (const CountedNode& counted : model.nodes) {
    if (counted.node->phase != Phase::kCast) continue;
    EXPECT_EQ(counted.status, NodeStatus::kCounted);
    read += counted.cost.BytesRead();
    written += counted.cost.BytesWritten();
  }
  EXPECT_EQ(read, Bytes(4 * 160));
  EXPECT_EQ(written, Bytes(2 * 160));
  EXPECT_EQ(model.weight_bytes, Bytes(4 * 160));
}

// A bias that an exporter writes as an Add runs in half with the product of its layer, and what is
// added to the result in float32 afterwards is promoted by the kernel that adds.
TEST(Precision, BiasOfALinearLayerRunsInHalf) {
  const InferredModel model = InPrecision(SmallModel()
                                              .Input("x", {2, 4, 8})
                                              .Weight("a", {8, 16})
                                              .Weight("b", {16})
                                              .Input("r", {2, 4, 16})
                                              .Node("MatMul", {"x", "a"}, {"p"})
                                              .Node("Add", {"p", "b"}, {"l"})
                                              .Node("Add", {"l", "r"}, {"y"})
                                              .Output("y")
                                              .Infer(),
                                          FindPrecision("amp-fp16"), {});
  std::vector<const CountedNode*> adds;
  Bytes promoted;
  for (const CountedNode& counted : model.nodes) {
    if (counted.node->op == "Add") adds.push_back(&counted);
    if (counted.node->promotes) promoted += counted.cost.BytesRead();
  }
  ASSERT_EQ(adds.size(), 2u);
  EXPECT_EQ(adds[0]->cost.BytesRead(), Bytes(2 * (2 * 4 * 16 + 16)));
  EXPECT_EQ(adds[0]->cost.BytesWritten(), Bytes(2 * (2 * 4 * 16)));
  EXPECT_EQ(adds[1]->cost.BytesWritten(), Bytes(4 * (2 * 4 * 16)));
  EXPECT_EQ(promoted, Bytes(2 * (2 * 4 * 16)));
  // Products with their bias, the sum in float32 that reads halves, and three copies: of x, a and
  // b.
  PlanOptions options{.fusion = Fusion::kDefault, .fuses = {}};
  options.fuses.Add(FusionStep::kBias);
  const Plan plan = MakePlan(model, options);
  Bytes moved;
  for (const Kernel& kernel : plan.kernels) moved += kernel.bytes();
  EXPECT_EQ(plan.kernels.size(), 5u);
  // x, a and b are copied; the product reads the copies and writes halves; the sum reads them and
  // r.
  EXPECT_EQ(moved, Bytes(6 * (64 + 128 + 16) + 2 * (64 + 128 + 16 + 128) + (2 + 4 + 4) * 128));
}

// Autocast asks softmax and sums for a result in float32: a softmax converts float16 as it reads, a
// sum either half type; what else runs in float32 reads a copy.
TEST(Precision, SoftmaxAndSumsConvertAsTheyRead) {
  const auto read = [](const char* op, const char* precision) {
    const InferredModel model = InPrecision(SmallModel(11)
                                                .Input("x", {2, 8})
                                                .Weight("w", {8, 16})
                                                .Node("MatMul", {"x", "w"}, {"p"})
                                                .Node(op, {"p"}, {"y"})
                                                .Output("y")
                                                .Infer(),
                                            FindPrecision(precision), {});
    const Plan plan = MakePlan(model, {.fusion = Fusion::kDefault, .fuses = {}});
    return plan.kernels.back().bytes_read;
  };
  EXPECT_EQ(read("Softmax", "amp-fp16"), Bytes(2 * 2 * 16));
  EXPECT_EQ(read("Softmax", "amp-bf16"), Bytes(4 * 2 * 16));
  EXPECT_EQ(read("ReduceSum", "amp-fp16"), Bytes(2 * 2 * 16));
  EXPECT_EQ(read("ReduceL2", "amp-bf16"), Bytes(2 * 2 * 16));
  EXPECT_EQ(read("Exp", "amp-fp16"), Bytes(4 * 2 * 16));
}

// A call of scaled_dot_product_attention is converted as one function: where it has no fused
// kernel, which wants four axes, its softmax stays in halves. A model's own code scales one side.
TEST(Precision, SoftmaxInsideACallStaysInHalves) {
  const auto type = [](const std::vector<int>& shape, const char* scaled) {
    SmallModel small(13);
    small.Input("q", {shape.begin(), shape.end()}).Input("k", {shape.begin(), shape.end()});
    small.Weight("s", {}).Output("y");
    small.Node("Mul", {"q", "s"}, {"a"}).Node("Mul", {"k", "s"}, {"b"});
    small.Node("MatMul", {"a", scaled}, {"p"}).Node("Softmax", {"p"}, {"y"});
    const InferredModel model = InPrecision(small.Infer(), FindPrecision("amp-fp16"), {});
    for (const CountedNode& node : model.nodes) {
      if (node.node->op == "Softmax") return TypeOf(node, 0);
    }
    return DType::kUndefined;
  };
  EXPECT_EQ(type({2, 3, 4, 8, 8}, "b"), DType::kFloat16);
  EXPECT_EQ(type({3, 4, 8, 8}, "b"), DType::kFloat32);
  EXPECT_EQ(type({2, 3, 4, 8, 8}, "k"), DType::kFloat32);
}

// torch.instance_norm takes halves beside parameters in float32; group_norm, which exporters write
// as one of a view of groups, runs in float32.
TEST(Precision, InstanceNormalizationsTakeHalvesAndGroupsDoNot) {
  const auto norm = [](bool groups) {
    SmallModel model = SmallModel()
                           .Input("x", {2, 4, 6, 6})
                           .Weight("w", {4, 4, 1, 1})
                           .Weight("s", {groups ? 2 : 4})
                           .Weight("b", {groups ? 2 : 4})
                           .Node("Conv", {"x", "w"}, {"c"});
    if (groups) model.Ints("shape", {2, 2, 72}).Node("Reshape", {"c", "shape"}, {"v"});
    return InPrecision(model.Node("InstanceNormalization", {groups ? "v" : "c", "s", "b"}, {"y"})
                           .Output("y")
                           .Infer(),
                       FindPrecision("amp-fp16"), {});
  };
  for (const bool groups : {false, true}) {
    const InferredModel model = norm(groups);
    const auto* const node = Find(model, "InstanceNormalization");
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(TypeOf(*node, 0), groups ? DType::kFloat32 : DType::kFloat16);
    EXPECT_EQ(TypeOf(*node, 1), DType::kFloat32);
  }
}

// Weights are stored in half; each product's operand is cast there, its result back.
TEST(Precision, ProductsAloneRunInHalf) {
  const InferredModel model = InPrecision(SmallModel()
                                              .Input("x", {4, 8})
                                              .Weight("a", {8, 16})
                                              .Weight("b", {16})
                                              .Node("MatMul", {"x", "a"}, {"p"})
                                              .Node("Add", {"p", "b"}, {"y"})
                                              .Output("y")
                                              .Infer(),
                                          FindPrecision("products-fp16"), {});
  EXPECT_EQ(model.weight_bytes, Bytes(2 * 8 * 16 + 4 * 16));
  Bytes cast_read, cast_written;
  for (const CountedNode& counted : model.nodes) {
    if (counted.node->op != "Cast") continue;
    cast_read += counted.cost.BytesRead();
    cast_written += counted.cost.BytesWritten();
  }
  EXPECT_EQ(cast_read, Bytes(4 * 4 * 8 + 2 * 4 * 16));
  EXPECT_EQ(cast_written, Bytes(2 * 4 * 8 + 4 * 4 * 16));
  EXPECT_EQ(TypeOf(*Find(model, "MatMul"), 0), DType::kFloat16);
  EXPECT_EQ(TypeOf(*Find(model, "Add"), 0), DType::kFloat32);
  EXPECT_THROW(StepOf(TwoLayers().Infer(), {.optimizer = "sgd", .precision = "products-fp16"}),
               Error);
}

TEST(Precision, BfloatNeedsNoScale) {
  const InferredModel step =
      StepOf(TwoLayers().Infer(), {.optimizer = "adam", .loss = "sum", .precision = "amp-bf16"});
  EXPECT_EQ(Find(step, "Unscale"), nullptr);
  EXPECT_EQ(step.step->saved_bytes, Bytes(2 * (4 * 8 + 4 * 16)));
}

TEST(Precision, HalfWeightsHaveMastersInFloat32) {
  const InferredModel step =
      StepOf(TwoLayers().Infer(), {.optimizer = "adam", .loss = "sum", .precision = "fp16"});
  EXPECT_EQ(step.weight_bytes, Bytes(2 * 160));
  EXPECT_EQ(step.step->trained_bytes, Bytes(2 * 160));
  EXPECT_EQ(step.step->gradient_bytes, Bytes(2 * 160));
  EXPECT_EQ(step.step->master_bytes, Bytes(4 * 160));
  EXPECT_EQ(step.step->state_bytes, Bytes(2 * 4 * 160));
  const CountedNode* unscale = Find(step, "Unscale");
  const CountedNode* copy = Find(step, "CopyTensors");
  ASSERT_NE(unscale, nullptr);
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(unscale->cost.BytesRead(), Bytes(4 + 2 * 160));
  EXPECT_EQ(unscale->cost.BytesWritten(), Bytes(4 * 160 + 4));
  EXPECT_EQ(copy->cost.BytesRead(), Bytes(4 * 160));
  EXPECT_EQ(copy->cost.BytesWritten(), Bytes(2 * 160));
}

TEST(Precision, EveryReaderOfAnActivationCastsForItself) {
  // Softmax runs in float32, and two products read it.
  const InferredModel step = StepOf(SmallModel()
                                        .Input("x", {4, 8})
                                        .Weight("a", {8, 16})
                                        .Weight("b", {8, 16})
                                        .Node("Softmax", {"x"}, {"s"})
                                        .Node("MatMul", {"s", "a"}, {"p"})
                                        .Node("MatMul", {"s", "b"}, {"q"})
                                        .Node("Add", {"p", "q"}, {"y"})
                                        .Output("y")
                                        .Infer(),
                                    {.optimizer = "none", .loss = "none", .precision = "amp-bf16"});
  int casts = 0;
  for (const CountedNode& counted : step.nodes) {
    casts += counted.node->op == "Cast" && counted.node->phase == Phase::kForward ? 1 : 0;
  }
  EXPECT_EQ(casts, 2);
  EXPECT_EQ(TypeOf(*Find(step, "Softmax"), 0), DType::kFloat32);
  EXPECT_EQ(TypeOf(*Find(step, "Add"), 0), DType::kBfloat16);
}

TEST(Precision, ProductsWithWeightsIn8Bits) {
  const InferredModel step = StepOf(SmallModel()
                                        .Input("x", {2, 16, 32})
                                        .Weight("a", {32, 64})
                                        .Node("MatMul", {"x", "a"}, {"h"})
                                        .Node("Relu", {"h"}, {"y"})
                                        .Output("y")
                                        .Infer(),
                                    {.optimizer = "sgd", .loss = "sum", .precision = "fp8"});
  const std::int64_t product = std::int64_t{2} * 16 * 32 * 64;
  std::map<std::pair<DType, Phase>, std::int64_t> macs;
  for (const CountedNode& counted : step.nodes) {
    if (counted.node->op != "GemmFloat8") continue;
    macs[{TypeOf(counted, 0), counted.node->phase}] += counted.cost.work.macs().value();
  }
  EXPECT_THAT(macs, ::testing::ElementsAre(
                        ::testing::Pair(std::pair(DType::kFloat8E4M3FN, Phase::kForward), product),
                        ::testing::Pair(std::pair(DType::kFloat8E4M3FN, Phase::kBackwardWeights),
                                        product)));
  // x in 8 bits, the result of Relu in 16.
  EXPECT_EQ(step.step->saved_bytes, Bytes(2 * 16 * 32 + 2 * 2 * 16 * 64));
}

// Inputs are halves too, also where the graph asks for their shape, as it does of Stable
// Diffusion's latent image and text.
TEST(Precision, AnInputWhoseShapeIsReadIsHalf) {
  const InferredModel model = InPrecision(SmallModel()
                                              .Input("x", {4, 8})
                                              .Weight("a", {8, 16})
                                              .Node("Shape", {"x"}, {"s"})
                                              .Node("MatMul", {"x", "a"}, {"p"})
                                              .Output("s")
                                              .Output("p")
                                              .Infer(),
                                          FindPrecision("fp16"), {});
  EXPECT_EQ(Find(model, "Cast"), nullptr);
  EXPECT_EQ(TypeOf(*Find(model, "Shape"), 0), DType::kFloat16);
  EXPECT_EQ(TypeOf(*Find(model, "MatMul"), 0), DType::kFloat16);
}

// A table that nodes hold and that is transposed before the run, as exporters write tied weights.
SmallModel TiedTable() {
  SmallModel model;
  model.Ints("shape", {32, 8});
  model.Input("ids", {4}, onnx::TensorProto::INT64);
  model.Node("ConstantOfShape", {"shape"}, {"table"});
  model.Node("Transpose", {"table"}, {"columns"});
  model.Node("Gather", {"table", "ids"}, {"x"});
  model.Node("MatMul", {"x", "columns"}, {"y"});
  return model.Output("y");
}

TEST(Precision, WeightsThatNodesHoldAreHalvesToo) {
  const InferredModel half = InPrecision(TiedTable().Infer(), FindPrecision("fp16"), {});
  EXPECT_EQ(TypeOf(*Find(half, "MatMul"), 0), DType::kFloat16);
  EXPECT_EQ(TypeOf(*Find(half, "MatMul"), 1), DType::kFloat16);
  EXPECT_THAT(half.notes, testing::IsEmpty());
  const InferredModel products =
      InPrecision(TiedTable().Infer(), FindPrecision("products-fp16"), {});
  EXPECT_EQ(TypeOf(*Find(products, "MatMul"), 0), DType::kFloat16);
  EXPECT_EQ(TypeOf(*Find(products, "MatMul"), 1), DType::kFloat16);
}

// A file in bfloat16 is one in float16 then; servers quantize it in the type that it has.
TEST(Precision, OneHalfTypeTakesThePlaceOfTheOther) {
  const auto file = [] {
    return SmallModel(21)
        .Input("x", {4, 128}, onnx::TensorProto::BFLOAT16)
        .Weight("a", {128, 16}, onnx::TensorProto::BFLOAT16)
        .Node("MatMul", {"x", "a"}, {"y"})
        .Output("y")
        .Infer();
  };
  EXPECT_EQ(TypeOf(*Find(InPrecision(file(), FindPrecision("fp16"), {}), "MatMul"), 0),
            DType::kFloat16);
  EXPECT_EQ(TypeOf(*Find(InPrecision(file(), FindPrecision("w4a16-int4"), {}), "MatMul"), 0),
            DType::kBfloat16);
}

// What stays wide is told: bodies of control flow keep their types.
TEST(Precision, SaysWhichProductsStayInFloat32) {
  SmallModel model;
  model.Input("x", {4, 8}).Input("flag", {}, onnx::TensorProto::BOOL).Weight("a", {8, 8});
  onnx::NodeProto& branch = model.AddNode("If", {"flag"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = branch.add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    auto* node = attribute->mutable_g()->add_node();
    node->set_op_type("MatMul");
    for (const char* input : {"x", "a"}) node->add_input(input);
    node->add_output(std::string(name) + "_y");
    attribute->mutable_g()->set_name(name);
    attribute->mutable_g()->add_output()->set_name(std::string(name) + "_y");
  }
  model.Node("MatMul", {"y", "a"}, {"z"}).Output("z");
  for (const char* precision : {"amp-fp16", "fp16", "products-fp16"}) {
    const InferredModel half = InPrecision(model.Infer(), FindPrecision(precision), {});
    EXPECT_THAT(half.notes, testing::Contains(testing::HasSubstr(
                                "50 % of the multiply-accumulates stay in float32 under "
                                "--precision " +
                                std::string(precision) + ": n_y/then")));
  }
}

// Operands of one operator have one type wherever its specification says so, and no product is left
// in float32 where none is to be.
TEST(Precision, TypesFitInWholeNetworks) {
  const std::set<std::string> same = {"Add",    "Sub",  "Mul",          "Div",
                                      "MatMul", "Gemm", "FusedMatMul",  "Concat",
                                      "Sum",    "Conv", "ConvTranspose"};
  const std::map<std::string, NetworkOptions> kNetworks = {
      {"resnet50", {{"norm", "kept"}}}, {"mobilenet-v2", {}}, {"bert-base", {}}, {"gpt2", {}},
      {"llama3-8b", {{"layers", "2"}}}, {"lstm", {}}};
  for (const auto& [name, settings] : kNetworks) {
    Model model = ReadModelFromBytes(BuildNetwork(name, settings), name);
    InferOptions options;
    options.bindings.batch = 2;
    if (name != "resnet50" && name != "mobilenet-v2") options.bindings.dims["sequence"] = 16;
    const InferredModel forward = Infer(std::move(model), options);
    for (const std::string& precision : PrecisionNames()) {
      const Precision& types = FindPrecision(precision);
      if (types.half != DType::kUndefined) {
        Count wide;
        for (const CountedNode& counted : InPrecision(forward, types, options).nodes) {
          wide += counted.cost.work.Of(OpClass::kMac, DType::kFloat32);
        }
        EXPECT_EQ(wide, Count(0)) << name << ", " << precision;
      }
      const InferredModel made =
          types.products || types.ForServing()
              ? InPrecision(forward, types, options)
              : InferStep(BuildStep(forward,
                                    {.optimizer = "adamw", .loss = "sum", .precision = precision}),
                          forward, options);
      for (const CountedNode& counted : made.nodes) {
        if (same.count(counted.node->op) == 0) continue;
        for (std::size_t i = 1; i < counted.node->inputs.size(); ++i) {
          if (counted.node->inputs[i] == kNoTensor) continue;
          EXPECT_EQ(TypeOf(counted, i), TypeOf(counted, 0))
              << name << ", " << precision << ": " << counted.name;
        }
      }
      for (const Node& node : made.model->graph.nodes) EXPECT_NE(node.op, "Gradient") << node.name;
    }
  }
}

TEST(Precision, TellsTheNamesThatItKnows) {
  EXPECT_THROW(FindPrecision("fp17"), Error);
  EXPECT_EQ(FindPrecision("bf16").half, DType::kBfloat16);
}

}  // namespace
}  // namespace dlcost
