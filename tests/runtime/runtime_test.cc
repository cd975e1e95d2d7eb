#include "estimator/runtime/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "estimator/infer/retype.h"
#include "models/networks/networks.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

const std::vector<std::string>& Directories() {
  static const std::vector<std::string> directories = {std::string(DLCOST_SOURCE_DIR) +
                                                       "/hw_specs"};
  return directories;
}

ReportOptions With(const std::string& runtime) {
  ReportOptions options;
  Assume(FindRuntime(runtime, Directories()), true, options);
  return options;
}

InferredModel Network(const std::string& name, const Dims& dims = {}) {
  return InferFile(std::string(DLCOST_SOURCE_DIR) + "/models/networks/" + name + ".onnx", dims);
}

std::string ErrorOf(const std::string& content) {
  const std::string path = testing::TempDir() + "/mine.yaml";
  std::ofstream(path) << content;
  try {
    ReadRuntime(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Runtimes, EveryEntryHasASource) {
  const std::vector<Runtime> all = AllRuntimes(Directories());
  ASSERT_GE(all.size(), 12U);
  for (const Runtime& runtime : all) {
    EXPECT_FALSE(runtime.name.empty()) << runtime.id;
    EXPECT_GE(runtime.parts.size(), 5U) << runtime.id;
    for (const RuntimePart& part : runtime.parts) {
      EXPECT_FALSE(part.meaning.empty()) << runtime.id << " " << part.name;
      EXPECT_GT(part.source.size(), 10U) << runtime.id << " " << part.name;
    }
    EXPECT_EQ(FindRuntime(runtime.id, Directories()).file, runtime.file);
  }
}

// What a report printed before it knew runtimes.
TEST(Runtimes, TheDefaultIsWhatOptionsAreWithoutOne) {
  const ReportOptions options = With(kDefaultRuntime);
  PlanOptions plan;
  plan.fusion = Fusion::kDefault;
  EXPECT_EQ(options.plan.fuses, plan.fuses);
  EXPECT_EQ(options.plan.Form(), plan.Form());
  EXPECT_EQ(options.plan.fusion, plan.fusion);
  EXPECT_EQ(options.run.math, MathMode::kDefault);
  EXPECT_EQ(options.run.launch, Launch::kGraph);
}

TEST(Runtimes, AreFoundByAliasWhateverTheCase) {
  EXPECT_EQ(FindRuntime("ORT", Directories()).id, "onnxruntime");
  EXPECT_EQ(FindRuntime("PyTorch", Directories()).id, "pytorch-eager");
  EXPECT_EQ(FindRuntime("llama.cpp", Directories()).id, "llama.cpp");
}

TEST(Runtimes, AnUnknownNameHasANearestSpelling) {
  try {
    FindRuntime("tensort", Directories());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("unknown runtime 'tensort' (did you mean 'tensorrt'?)"));
  }
}

TEST(Runtimes, FilesAreReadStrictly) {
  const std::string rest =
      "fuses: {value: none, source: s}\nattention: flash [s]\nmath: default [s]\n"
      "launch: graph [s]\nselection: build [s]\nlayout: file [s]\nsources: {s: a document}\n";
  EXPECT_EQ(ErrorOf("name: x\n" + rest), "");
  EXPECT_THAT(ErrorOf(rest), HasSubstr("'name' is missing"));
  EXPECT_THAT(ErrorOf("name: x\nfuzes: 1\n" + rest), HasSubstr("did you mean 'fuses'?"));
  EXPECT_THAT(
      ErrorOf("name: x\nlaunch: eagre [s]\nsources: {s: d}\n"),
      HasSubstr("mine.yaml:2: 'eagre' is not one of graph, eager, script (did you mean 'eager'?)"));
  EXPECT_THAT(ErrorOf("name: x\nattention: flush [s]\nsources: {s: d}\n"),
              HasSubstr("did you mean 'flash'?"));
  EXPECT_THAT(ErrorOf("name: x\nfuses:\n  pointwize: chains [s]\nsources: {s: d}\n"),
              HasSubstr("unknown fusion 'pointwize' (did you mean 'pointwise'?)"));
  EXPECT_THAT(ErrorOf("name: x\nmath: tf32\n"), HasSubstr("'math' names no source"));
  EXPECT_THAT(ErrorOf("- a\n"), HasSubstr("expected 'key: value' lines"));
}

TEST(Runtimes, RunOnDevicesOfTheirVendor) {
  const Runtime tensorrt = FindRuntime("tensorrt", Directories());
  EXPECT_NO_THROW(RequireRunsOn(tensorrt, DeviceOf("a100")));
  EXPECT_THROW(RequireRunsOn(tensorrt, DeviceOf("mi300x")), Error);
  EXPECT_NO_THROW(RequireRunsOn(FindRuntime("pytorch", Directories()), DeviceOf("mi300x")));
}

// BERT's layer under each kind of runtime, as an engineer would list it.
TEST(Runtimes, BertLayerRunsAsTheFileSays) {
  const auto layer = [](const std::string& runtime) {
    const Plan plan = MakePlan(Export("bert_torchscript", {{"sequence", 16}}), With(runtime).plan);
    const std::vector<std::string> labels = Labels(plan);
    const auto first = std::find_if(labels.begin(), labels.end(), [](const std::string& label) {
      return label.rfind("mat_mul", 0) == 0;
    });
    return std::vector<std::string>(first, labels.end());
  };
  EXPECT_THAT(layer("tensorrt"),
              IsSupersetOf({"mat_mul x3 + add x3", "attention", "mat_mul + add x2",
                            "layer_normalization", "mat_mul + add + gelu"}));
  EXPECT_THAT(layer("fastertransformer"),
              IsSupersetOf({"mat_mul x3", "add + gelu", "add x2 + layer_normalization"}));
  EXPECT_THAT(layer("pytorch-eager"),
              IsSupersetOf({"mat_mul + add", "add", "gelu", "layer_normalization", "softmax"}));
  EXPECT_THAT(layer("pytorch-eager"), Not(Contains(HasSubstr("add + "))));
  EXPECT_THAT(layer("onnxruntime"),
              IsSupersetOf({"mat_mul x3 + add x3", "attention", "mat_mul + add", "gelu",
                            "add + layer_normalization"}));
}

// Scores as cuBLAS multiplies them: keys transposed, sums scaled (FusedMatMul); and query, key and
// value stacked, but no pair of a gate and what it opens.
TEST(Runtimes, OnnxRuntimeStacksProjectionsAndHandsTranspositionsToBlas) {
  const auto labels = [](const std::string& network, const Dims& dims) {
    ReportOptions options = With("onnxruntime");
    options.plan.attention = AttentionForm::kMaterialized;
    const std::string file = BuildNetwork(network, {{"layers", "1"}});
    InferOptions infer;
    infer.bindings.dims = dims;
    return Labels(MakePlan(Infer(ReadModelFromBytes(file, network), infer), options.plan));
  };
  const std::vector<std::string> bert = labels("bert-base", {{"sequence", 16}});
  EXPECT_EQ(std::count(bert.begin(), bert.end(), "mat_mul x3 + add x3"), 1);
  EXPECT_EQ(std::count(bert.begin(), bert.end(), "transpose + mat_mul + mul"), 1);
  EXPECT_EQ(std::count(bert.begin(), bert.end(), "transpose"), 4);  // heads, there and back
  const std::vector<std::string> llama = labels("llama3-8b", {{"sequence", 16}});
  EXPECT_EQ(std::count(llama.begin(), llama.end(), "mat_mul x3"), 1);
  EXPECT_EQ(std::count(llama.begin(), llama.end(), "mat_mul x2"), 0);
}

TEST(Runtimes, FusedAttentionForHalfTypesAlone) {
  const PlanOptions plan = With("fastertransformer").plan;
  InferredModel bert = Export("bert_torchscript", {{"sequence", 16}});
  EXPECT_EQ(CountLabels(MakePlan(bert, plan), "attention"), 0);
  EXPECT_EQ(CountLabels(MakePlan(bert, plan), "softmax"), 2);
  Retype(bert, DType::kFloat16);
  EXPECT_EQ(CountLabels(MakePlan(bert, plan), "attention"), 2);
}

// One token over its cache, in a decoder's fused kernel, whatever the type.
TEST(Runtimes, FusedAttentionOfOneTokenInFloatsToo) {
  const PlanOptions plan = With("fastertransformer").plan;
  const auto attentions = [&](const std::string& phase, const std::string& dim) {
    InferOptions options;
    options.bindings.dims = {{dim, 16}};
    const std::string file = BuildNetwork("gpt2", {{"phase", phase}, {"layers", "2"}});
    return CountLabels(MakePlan(Infer(ReadModelFromBytes(file, "gpt2"), options), plan),
                       "attention");
  };
  EXPECT_EQ(attentions("decode", "past"), 2);
  EXPECT_EQ(attentions("prefill", "sequence"), 0);
}

// Query, key and value as one product: three times as wide, its operand read once.
TEST(Runtimes, ParallelProductsAreStacked) {
  const InferredModel bert = Export("bert_torchscript", {{"sequence", 16}});
  const PlanOptions apart = With("generic").plan;
  PlanOptions stacked = apart;
  stacked.fuses.Add(FusionStep::kParallel);
  EXPECT_TRUE(With("tensorrt").plan.fuses.Has(FusionStep::kParallel));
  const Plan before = MakePlan(bert, apart), after = MakePlan(bert, stacked);
  EXPECT_EQ(Labels(before).size(), Labels(after).size() + 4);  // two layers
  Count macs_before, macs_after;
  for (const Kernel& kernel : before.kernels) macs_before += kernel.work.Of(OpClass::kMac);
  for (const Kernel& kernel : after.kernels) {
    macs_after += kernel.work.Of(OpClass::kMac);
    if (kernel.label != "mat_mul x3 + add x3") continue;
    const auto& nest = std::get<GemmNest>(kernel.nest);
    EXPECT_EQ(nest.n, Count(3) * nest.k);
    EXPECT_EQ(kernel.work.Of(OpClass::kMac), nest.batch * nest.m * nest.n * nest.k);
    EXPECT_EQ(kernel.bytes_read, Bytes(4 * (nest.m * nest.k + nest.k * nest.n + nest.n)));
    EXPECT_EQ(kernel.bytes_written, Bytes(4 * nest.m * nest.n));
  }
  EXPECT_EQ(macs_before, macs_after);
}

TEST(Runtimes, Resnet50RunsAsTheFileSays) {
  const InferredModel resnet = Network("resnet50");
  const auto kernels = [&](const std::string& runtime) {
    return Labels(MakePlan(resnet, With(runtime).plan)).size();
  };
  // 53 convolutions, 2 poolings, a product; 49 activations and 16 additions on their own.
  EXPECT_EQ(kernels("tensorrt"), 56U);
  EXPECT_EQ(kernels("onnxruntime"), 56U);
  EXPECT_EQ(kernels("pytorch-eager"), 121U);
  EXPECT_EQ(kernels("torchscript"), 121U);
  // Each addition with its activation, and the mean with what is before it.
  EXPECT_EQ(kernels("pytorch-compile"), 104U);
}

}  // namespace
}  // namespace dlcost
