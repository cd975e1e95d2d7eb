#include "estimator/training/step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "estimator/core/error.h"
#include "estimator/plan/kernel.h"
#include "models/gradients/gradient.h"
#include "models/networks/networks.h"
#include "models/operators/registry.h"
#include "tests/training/small_step.h"

namespace dlcost {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// What a resizing reads beside its data is no parameter, and stays known to what is behind it.
TEST(Step, ScalesOfAResizingAreNotTrained) {
  SmallModel model;
  model.Input("x", {1, 4, 8, 8}).Weight("w", {6, 4, 3, 3}).Weight("v", {3, 6, 1, 1});
  model.Floats("scales", {1, 1, 2, 2}).Node("Conv", {"x", "w"}, {"c"});
  model.Node("Resize", {"c", "", "scales"}, {"r"}).Node("Conv", {"r", "v"}, {"y"}).Output("y");
  const InferredModel step = StepOf(model.Infer(), {.optimizer = "sgd", .loss = "mse"});
  EXPECT_EQ(step.step->trained, Count(6 * 4 * 3 * 3 + 3 * 6));
  for (const CountedNode& counted : step.nodes) {
    EXPECT_NE(counted.status, NodeStatus::kUnknown) << counted.name << ": " << counted.why;
  }
  EXPECT_EQ(MacsOf(step, Phase::kBackwardWeights), Macs(6 * 4 * 9 * 6 * 6 + 3 * 6 * 12 * 12));
}

// The newer exporter writes the scale of attention as the root of a number in the type of the
// queries, which are trained; the number is not, and mixed precision finds no two types in it.
TEST(Step, ATypeHasNoGradient) {
  SmallModel model;
  model.Input("x", {4, 8}).Weight("w", {8, 8}).Weight("v", {8, 8}).Scalar("number", 4);
  model.Node("MatMul", {"x", "w"}, {"q"}).Node("CastLike", {"number", "q"}, {"scale"});
  model.Node("Sqrt", {"scale"}, {"root"}).Node("Mul", {"q", "root"}, {"scaled"});
  model.Node("MatMul", {"scaled", "v"}, {"y"}).Output("y");
  const InferredModel step =
      StepOf(model.Infer(), {.optimizer = "sgd", .loss = "mse", .precision = "amp-bf16"});
  for (const CountedNode& counted : step.nodes) {
    EXPECT_EQ(counted.name.find("root/grad"), std::string::npos) << counted.name;
    EXPECT_NE(counted.status, NodeStatus::kUnknown) << counted.name << ": " << counted.why;
  }
}

// A model may hand out numbers of both widths; their losses add up in the wider.
TEST(Step, LossesOfTwoTypesAddUpInTheWider) {
  SmallModel model;
  model.Input("x", {4, 8}).Weight("w", {8, 8}).Weight("v", {8, 8}, onnx::TensorProto::DOUBLE);
  model.Input("z", {4, 8}, onnx::TensorProto::DOUBLE);
  model.Node("MatMul", {"x", "w"}, {"y"}).Node("MatMul", {"z", "v"}, {"t"});
  model.Output("y").Output("t");
  const InferredModel step = StepOf(model.Infer(), {.optimizer = "sgd", .loss = "mse"});
  // One product there and one for the weights' gradient, in each type.
  EXPECT_EQ(MacsOf(step, Phase::kForward), Macs(2 * 4 * 8 * 8));
  EXPECT_EQ(MacsOf(step, Phase::kBackwardWeights), Macs(2 * 4 * 8 * 8));
}

// PyTorch 2.1, torch.utils.flop_counter, at batch 2: forward 8,178,368,512, with backward
// 24,299,077,632. The difference to three times forward is the first convolution's data gradient:
// 2 * 64 * 112 * 112 * 3 * 49.
TEST(Step, MultipliesAsPyTorchDoes) {
  Model model = ReadModelFromBytes(BuildNetwork("resnet50", {}), "resnet50");
  InferOptions options;
  options.bindings.batch = 2;
  const InferredModel forward = Infer(std::move(model), options);
  const InferredModel step = InferStep(BuildStep(forward, {.optimizer = "sgd"}), forward, options);
  const std::int64_t first = std::int64_t{2} * 64 * 112 * 112 * 3 * 49;
  std::map<std::string, std::int64_t> macs = MacsByPhase(step);
  EXPECT_EQ(macs["forward"], 8178368512);
  EXPECT_EQ(macs["backward for weights"], 8178368512);
  EXPECT_EQ(macs["backward for data"], 8178368512 - first);
  EXPECT_EQ(3 * 8178368512 - first, 24299077632);
  ASSERT_EQ(step.step->without_data_gradient.size(), 1U);
  EXPECT_EQ(step.step->without_data_gradient[0].node, "/conv1/Conv");
  EXPECT_EQ(step.step->without_data_gradient[0].macs, Macs(first));
}

TEST(Step, KeepsWhatDerivativesRead) {
  const InferredModel step = StepOf(TwoLayers().Infer(), {.optimizer = "adam", .loss = "none"});
  // x for a, r for b and for the Relu.
  EXPECT_EQ(step.step->saved_bytes, Bytes(4 * (4 * 8 + 4 * 16)));
  EXPECT_EQ(step.step->trained, Count(8 * 16 + 16 * 2));
  EXPECT_EQ(step.step->gradient_bytes, Bytes(4 * 160));
  EXPECT_EQ(step.step->state_bytes, Bytes(2 * 4 * 160));
  const CountedNode* adam = Find(step, "Adam");
  ASSERT_NE(adam, nullptr);
  // Weights, gradients, two states; rate and count. All but the gradients and the latter written.
  EXPECT_EQ(adam->cost.BytesRead(), Bytes(4 * 4 * 160 + 4 + 8));
  EXPECT_EQ(adam->cost.BytesWritten(), Bytes(3 * 4 * 160));
}

// Of x sigmoid(x), written in two nodes, x alone; and x for the weight.
TEST(Step, KeepsTheInputOfAnActivationInSeveralNodes) {
  const InferredModel step = StepOf(SmallModel()
                                        .Input("x", {4, 8})
                                        .Weight("a", {8, 16})
                                        .Node("MatMul", {"x", "a"}, {"h"})
                                        .Node("Sigmoid", {"h"}, {"s"})
                                        .Node("Mul", {"h", "s"}, {"y"})
                                        .Output("y")
                                        .Infer(),
                                    {.optimizer = "sgd", .loss = "none"});
  EXPECT_EQ(step.step->saved_bytes, Bytes(4 * (4 * 8 + 4 * 16)));
}

// The first pass's gradients become the sums, the second's are added.
TEST(Step, AddsGradientsOfMicroBatches) {
  const TrainOptions once = {.optimizer = "adam", .loss = "none"};
  TrainOptions twice = once;
  twice.micro_batches = 2;
  const InferredModel one = StepOf(TwoLayers().Infer(), once);
  const InferredModel two = StepOf(TwoLayers().Infer(), twice);
  std::map<std::string, std::int64_t> macs = MacsByPhase(one), doubled = MacsByPhase(two);
  for (const auto& [phase, count] : macs) EXPECT_EQ(doubled[phase], 2 * count) << phase;
  Count additions;
  Bytes moved;
  for (const CountedNode& counted : two.nodes) {
    if (counted.node->op != "Accumulate") continue;
    EXPECT_EQ(counted.repeat, Count(1));
    additions += counted.cost.work.Of(OpClass::kAdd);
    moved += counted.cost.BytesRead() + counted.cost.BytesWritten();
  }
  EXPECT_EQ(additions, Count(160));
  EXPECT_EQ(moved, Bytes(3 * 4 * 160));
  EXPECT_EQ(Find(two, "Adam")->cost.BytesRead(), Find(one, "Adam")->cost.BytesRead());
}

TEST(Step, ClipsGradientsByTheNormOfAll) {
  const InferredModel step =
      StepOf(TwoLayers().Infer(), {.optimizer = "sgd", .loss = "none", .clips = true});
  const CountedNode* clip = Find(step, "ClipByNorm");
  ASSERT_NE(clip, nullptr);
  // Over all gradients for the norm, then to scale.
  EXPECT_EQ(clip->cost.BytesRead(), Bytes(4 + 2 * 4 * 160));
  EXPECT_EQ(clip->cost.BytesWritten(), Bytes(4 * 160));
}

TEST(Step, AdafactorKeepsRowsAndColumns) {
  const InferredModel step =
      StepOf(TwoLayers().Infer(), {.optimizer = "adafactor", .loss = "none"});
  EXPECT_EQ(step.step->state_bytes, Bytes(4 * (8 + 16 + 16 + 2)));
}

TEST(Step, TrainsNothingThatIsFrozen) {
  const InferredModel step =
      StepOf(TwoLayers().Infer(), {.optimizer = "sgd", .loss = "none", .frozen = {"a"}});
  std::map<std::string, std::int64_t> macs = MacsByPhase(step);
  EXPECT_EQ(macs["backward for data"], 0);
  EXPECT_EQ(macs["backward for weights"], 4 * 16 * 2);
  EXPECT_EQ(step.step->trained, Count(32));
  EXPECT_THROW(StepOf(TwoLayers().Infer(), {.optimizer = "sgd", .frozen = {"c*"}}), Error);
}

TEST(Step, AddsGradientsOfAValueThatIsUsedTwice) {
  const InferredModel step = StepOf(SmallModel()
                                        .Input("x", {4, 8})
                                        .Weight("a", {8, 8})
                                        .Node("MatMul", {"x", "a"}, {"h"})
                                        .Node("MatMul", {"h", "a"}, {"g"})
                                        .Node("Mul", {"g", "h"}, {"y"})
                                        .Output("y")
                                        .Infer(),
                                    {.optimizer = "none", .loss = "none"});
  // Of h, read by a product and by Mul; of a, read by two products.
  std::int64_t additions = 0;
  for (const CountedNode& counted : step.nodes) {
    if (counted.node->op == "Add" && counted.node->phase != Phase::kForward) ++additions;
  }
  EXPECT_EQ(additions, 2);
  const std::int64_t product = 4 * 8 * 8;
  EXPECT_THAT(MacsByPhase(step),
              ElementsAre(Pair("backward for data", product),
                          Pair("backward for weights", 2 * product), Pair("forward", 2 * product)));
}

// 9 outputs of 4 channels from 2 x 3 x 3; 9 of 3 from 4.
TEST(Step, ConvolutionsHaveAProductForDataAndOneForWeights) {
  SmallModel model;
  model.Input("x", {1, 2, 6, 6}).Weight("a", {4, 2, 3, 3}).Weight("b", {3, 4, 1, 1});
  onnx::NodeProto& conv = model.AddNode("Conv", {"x", "a"}, {"h"});
  SetInts(conv, "strides", {2, 2});
  SetInts(conv, "pads", {1, 1, 1, 1});
  model.Node("Conv", {"h", "b"}, {"y"}).Output("y");
  const InferredModel step = StepOf(model.Infer(), {.optimizer = "sgd", .loss = "sum"});
  EXPECT_THAT(MacsByPhase(step), ElementsAre(Pair("backward for data", 9 * 3 * 4),
                                             Pair("backward for weights", 9 * 4 * 18 + 9 * 3 * 4),
                                             Pair("forward", 9 * 4 * 18 + 9 * 3 * 4),
                                             Pair("loss", 0), Pair("optimizer", 0)));
  const CountedNode* weights = Find(step, "ConvGrad");
  ASSERT_NE(weights, nullptr);
  EXPECT_TRUE(std::get<ConvNest>(weights->cost.nest).of_weights);
  // dy and x, not the weight.
  EXPECT_EQ(weights->cost.BytesRead(), Bytes(4 * (3 * 9 + 4 * 9)));
}

// 4 samples of 2 classes: logarithms and their gradient are tensors of their own, and so is what
// the likelihood hands back, zeros but for the labels.
TEST(Step, LossesApartKeepWhatEagerModeKeeps) {
  const InferredModel joined =
      StepOf(TwoLayers().Infer(), {.optimizer = "sgd", .loss = "cross_entropy"});
  const InferredModel apart = StepOf(TwoLayers().Infer(), {.optimizer = "sgd", .loss = "nll"});
  EXPECT_EQ(Find(joined, "LogSoftmax"), nullptr);
  ASSERT_NE(Find(apart, "LogSoftmax"), nullptr);
  ASSERT_NE(Find(apart, "LogSoftmaxGrad_13"), nullptr);
  EXPECT_EQ(Find(apart, "ScatterElements")->cost.BytesWritten(), Bytes(4 * 4 * 2));
  EXPECT_EQ(apart.step->saved_bytes, joined.step->saved_bytes) << "the logarithms either way";
  EXPECT_EQ(MacsByPhase(apart), MacsByPhase(joined));
}

TEST(Step, NamesWhatHasNoDerivative) {
  SmallModel model;
  model.Input("x", {1, 2, 4, 4}).Weight("a", {3, 2, 1, 1}).Weight("b", {2, 3, 1, 1});
  model.Node("Conv", {"x", "a"}, {"h"});
  model.AddNodeOf("com.microsoft", "GatedAdd", {"h", "h", "h"}, {"g"});
  model.Node("Conv", {"g", "b"}, {"y"}).Output("y");
  const InferredModel step = StepOf(model.Infer(), {.optimizer = "sgd", .loss = "none"});
  const CountedNode* unknown = Find(step, "Gradient");
  ASSERT_NE(unknown, nullptr);
  EXPECT_EQ(unknown->status, NodeStatus::kBounded);
  EXPECT_EQ(unknown->why, "the derivative of GatedAdd is not written");
  // What is before it still gets its gradient.
  EXPECT_EQ(step.step->trained, Count(12));
  EXPECT_EQ(MacsByPhase(step)["backward for weights"], 2 * 16 * 6);
}

// The first output is left out.
TEST(Step, SaysWhichOutputHasNoShape) {
  SmallModel model;
  model.Input("n", {}, onnx::TensorProto::INT64).Weight("w", {1, 4});
  model.Scalar("zero", 0).Scalar("one", 1).Node("Range", {"zero", "n", "one"}, {"r"});
  SetInt(model.AddNode("Cast", {"r"}, {"f"}), "to", onnx::TensorProto::FLOAT);
  model.Ints("axis", {1}).Node("Unsqueeze", {"f", "axis"}, {"column"});
  const InferredModel forward = model.Node("MatMul", {"column", "w"}, {"y"}).Output("y").Infer();
  EXPECT_THAT([&] { BuildStep(forward, {.optimizer = "sgd", .loss = "sum"}); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("the shape of output 'y'")));
}

TEST(Step, StandsInForANodeWithoutItsFirstOutput) {
  SmallModel model;
  model.Input("x", {7, 2, 3}).Weight("p", {3, 3}).Weight("w", {1, 20, 3}).Weight("r", {1, 20, 5});
  model.Node("MatMul", {"x", "p"}, {"h"});
  SetInt(model.AddNodeOf("com.microsoft", "LSTMTraining", {"h", "w", "r"}, {"", "y"}),
         "hidden_size", 5);
  const InferredModel step =
      StepOf(model.Output("y").Infer(), {.optimizer = "sgd", .loss = "none"});
  const CountedNode* unknown = Find(step, "Gradient");
  ASSERT_NE(unknown, nullptr);
  EXPECT_EQ(unknown->why, "the derivative of LSTMTraining is not written");
}

// 6 steps behind the first, 2 samples, 4 gates of 5 units from 5; every other product is over
// all 7.
TEST(Step, RecurrentLayersGoBackThroughTheirSteps) {
  SmallModel model;
  model.Input("x", {7, 2, 3}).Weight("p", {3, 3}).Weight("w", {1, 20, 3}).Weight("r", {1, 20, 5});
  model.Node("MatMul", {"x", "p"}, {"h"});
  SetInt(model.AddNode("LSTM", {"h", "w", "r"}, {"y"}), "hidden_size", 5);
  const InferredModel step =
      StepOf(model.Output("y").Infer(), {.optimizer = "sgd", .loss = "none"});
  const std::int64_t input = 7 * 2 * 20 * 3, recurrent = 7 * 2 * 20 * 5, linear = 7 * 2 * 3 * 3;
  EXPECT_THAT(MacsByPhase(step),
              ElementsAre(Pair("backward for data", 6 * 2 * 20 * 5 + input),
                          Pair("backward for weights", linear + input + recurrent),
                          Pair("forward", linear + input + recurrent), Pair("optimizer", 0)));
}

TEST(Step, NormalizationsTakeStatisticsOfTheBatch) {
  SmallModel model;
  model.Input("x", {2, 3, 4, 4}).Weight("w", {5, 3, 1, 1});
  for (const char* name : {"scale", "shift", "mean", "var"}) model.Weight(name, {5});
  model.Node("Conv", {"x", "w"}, {"h"})
      .Node("BatchNormalization", {"h", "scale", "shift", "mean", "var"}, {"y"})
      .Output("y");
  const InferredModel step = StepOf(model.Infer(), {.optimizer = "sgd", .loss = "none"});
  // Running statistics are not trained.
  EXPECT_EQ(step.step->trained, Count(5 * 3 + 5 + 5));
  // x for the convolution, h and the statistics of the batch for the normalization.
  EXPECT_EQ(step.step->saved_bytes, Bytes(4 * (2 * 3 * 16 + 2 * 5 * 16 + 2 * 5)));
  // A kernel of its own: it reads what the convolution wrote.
  bool alone = false;
  ForEachKernel(step, {}, [&](const Kernel& kernel) {
    if (step.nodes[kernel.main].node->op != "BatchNormInternal") return;
    alone = kernel.nodes.size() == 1;
    EXPECT_EQ(kernel.bytes_read, Bytes(4 * (2 * 5 * 16 + 4 * 5)));
  });
  EXPECT_TRUE(alone);
}

// One call there and one back, as PyTorch has them: each sample's channels are channels of one
// batch.
TEST(Step, InstanceNormalizationIsOneOfABatchOfOne) {
  SmallModel model;
  model.Input("x", {2, 3, 4, 4}).Weight("scale", {3}).Weight("shift", {3});
  model.Node("Tanh", {"x"}, {"h"})
      .Node("InstanceNormalization", {"h", "scale", "shift"}, {"y"})
      .Output("y");
  const InferredModel step = StepOf(model.Infer(), {.optimizer = "none", .loss = "none"});
  EXPECT_EQ(step.step->trained, Count(3 + 3));
  // What was normalized, a mean and a deviation of six planes. The scales of samples are known
  // before the run.
  EXPECT_EQ(step.step->saved_bytes, Bytes(4 * (2 * 3 * 16 + 2 * 6)));
  std::vector<std::string> forward, back;
  for (const CountedNode& counted : step.nodes) {
    if (counted.cost.work.empty()) continue;
    (counted.node->phase == Phase::kForward ? forward : back).push_back(counted.node->op);
  }
  EXPECT_THAT(forward, ElementsAre("Tanh", "BatchNormInternal"));
  EXPECT_THAT(back, UnorderedElementsAre("BatchNormalizationGrad", "ReduceSum", "ReduceSum"));
}

// What is padded with the data itself hands its gradient back to where it was taken from.
TEST(Step, PaddingWithDataAddsUp) {
  for (const char* mode : {"reflect", "edge", "wrap"}) {
    SmallModel model;
    model.Input("x", {4, 8}).Weight("w", {8, 6}).Ints("pads", {0, 2, 0, 1});
    model.Node("MatMul", {"x", "w"}, {"h"});
    auto* attribute = model.AddNode("Pad", {"h", "pads"}, {"y"}).add_attribute();
    attribute->set_name("mode");
    attribute->set_type(onnx::AttributeProto::STRING);
    attribute->set_s(mode);
    const InferredModel step =
        StepOf(model.Output("y").Infer(), {.optimizer = "none", .loss = "none"});
    const CountedNode* back = Find(step, "PadGrad");
    ASSERT_NE(back, nullptr);
    EXPECT_EQ(back->cost.work.Of(OpClass::kAdd), Count(4 * 9 - 4 * 6));
    EXPECT_EQ(step.step->saved_bytes, Bytes(4 * 4 * 8));
  }
}

TEST(Step, InstanceNormalizationOfNothing) {
  SmallModel model;
  model.Input("x", {0, 3, 4, 4}).Weight("scale", {3}).Weight("shift", {3});
  model.Node("InstanceNormalization", {"x", "scale", "shift"}, {"y"}).Output("y");
  const InferredModel step = StepOf(model.Infer(), {.optimizer = "none", .loss = "none"});
  EXPECT_EQ(step.step->trained, Count(3 + 3));
}

// What a framework calls once runs once, however many operations the derivative is written in.
TEST(Step, DerivativesOfActivationsAreOneCall) {
  for (const std::string op : {"HardSwish", "HardSigmoid", "Elu", "Selu", "Mish", "Clip"}) {
    SmallModel model;
    model.Input("x", {4, 8}).Weight("w", {8, 8}).Floats("zero", {0}).Floats("six", {6});
    model.Node("MatMul", {"x", "w"}, {"h"});
    model.Node("Squeeze", {"zero"}, {"low"}).Node("Squeeze", {"six"}, {"high"});
    const std::vector<std::string> inputs =
        op == "Clip" ? std::vector<std::string>{"h", "low", "high"} : std::vector<std::string>{"h"};
    model.Node(op, inputs, {"y"}).Output("y");
    const InferredModel step = StepOf(model.Infer(), {.optimizer = "none", .loss = "none"});
    std::vector<std::string> calls;
    ForEachKernel(step, {.fusion = Fusion::kDefault, .fuses = FusionSet()},
                  [&](const Kernel& kernel) {
                    if (kernel.bytes_written > Bytes(0)) calls.push_back(kernel.label);
                  });
    ASSERT_THAT(calls, ::testing::SizeIs(4)) << op;
    EXPECT_THAT(calls[2], ::testing::EndsWith("_backward")) << op;
  }
}

// y = x (a b), all trained: weights change from step to step.
TEST(Step, MultipliesWeightsEveryTime) {
  SmallModel model;
  model.Input("x", {2, 8}).Weight("a", {8, 3}).Weight("b", {3, 8});
  model.Node("MatMul", {"a", "b"}, {"w"}).Node("MatMul", {"x", "w"}, {"y"}).Output("y");
  const InferredModel step = StepOf(model.Infer(), {.optimizer = "sgd", .loss = "sum"});
  EXPECT_EQ(MacsOf(step, Phase::kForward), Macs(8 * 3 * 8 + 2 * 8 * 8));
  // Of their product, and of each of its factors.
  EXPECT_EQ(MacsOf(step, Phase::kBackwardWeights), Macs(2 * 8 * 8 + 2 * (8 * 3 * 8)));
}

// What an exporter writes for a network in training mode is not folded into the convolution.
TEST(TrainingModeExport, KeepsItsNormalization) {
  SmallModel model;
  model.Input("x", {2, 3, 4, 4}).Weight("w", {5, 3, 1, 1});
  for (const char* name : {"scale", "shift", "mean", "var"}) model.Weight(name, {5});
  model.Node("Conv", {"x", "w"}, {"h"});
  onnx::NodeProto& norm =
      model.AddNode("BatchNormalization", {"h", "scale", "shift", "mean", "var"}, {"y", "m", "v"});
  SetInt(norm, "training_mode", 1);
  const InferredModel inferred = model.Output("y").Output("m").Output("v").Infer();
  std::vector<std::size_t> sizes;
  ForEachKernel(inferred, {}, [&](const Kernel& kernel) { sizes.push_back(kernel.nodes.size()); });
  EXPECT_THAT(sizes, ElementsAre(1, 1));
}

TEST(Step, RulesAreOfOperatorsThatExist) {
  std::size_t rules = 0;
  for (const auto& family : GradientFamilies()) {
    for (const GradientDef& def : family) {
      EXPECT_NE(FindOperator(def.domain, def.name), nullptr) << def.name;
      ++rules;
    }
  }
  EXPECT_GT(rules, 80U);
}

// Scores of words are classes: as many as the table has rows that the words were looked up in.
TEST(Step, TrainsScoresOfWordsTowardsClasses) {
  const auto loss = [](int classes, bool apart = false) {
    return StepOf(SmallModel()
                      .Input("ids", {2, 4}, onnx::TensorProto::INT64)
                      .Weight("table", {50, 8})
                      .Weight("head", {8, classes})
                      .Node("Gather", {"table", "ids"}, {"x"})
                      .Node("MatMul", {"x", "head"}, {"y"})
                      .Output("y")
                      .Infer(),
                  {.optimizer = "sgd", .losses_apart = apart})
        .step->loss;
  };
  EXPECT_EQ(loss(50), "cross_entropy");
  EXPECT_EQ(loss(49), "mse");
  EXPECT_EQ(loss(50, true), "nll");
  EXPECT_EQ(loss(49, true), "mse");
}

}  // namespace
}  // namespace dlcost
