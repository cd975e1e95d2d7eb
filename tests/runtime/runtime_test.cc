#include "estimator/runtime/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

using testing::HasSubstr;

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
  EXPECT_FALSE(options.run.eager);
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
      "launch: graph [s]\nselection: build [s]\nsources: {s: a document}\n";
  EXPECT_EQ(ErrorOf("name: x\n" + rest), "");
  EXPECT_THAT(ErrorOf(rest), HasSubstr("'name' is missing"));
  EXPECT_THAT(ErrorOf("name: x\nfuzes: 1\n" + rest), HasSubstr("did you mean 'fuses'?"));
  EXPECT_THAT(ErrorOf("name: x\nlaunch: eagre [s]\nsources: {s: d}\n"),
              HasSubstr("mine.yaml:2: 'eagre' is not one of graph, eager (did you mean 'eager'?)"));
  EXPECT_THAT(ErrorOf("name: x\nattention: flush [s]\nsources: {s: d}\n"),
              HasSubstr("did you mean 'flash'?"));
  EXPECT_THAT(ErrorOf("name: x\nfuses: {pointwize: chains [s]}\nsources: {s: d}\n"),
              HasSubstr("unknown fusion 'pointwize' (did you mean 'pointwise'?)"));
  EXPECT_THAT(ErrorOf("name: x\nmath: tf32\n"), HasSubstr("'math' names no source"));
  EXPECT_THAT(ErrorOf("- a\n"), HasSubstr("expected a runtime"));
}

TEST(Runtimes, RunOnDevicesOfTheirVendor) {
  const Runtime tensorrt = FindRuntime("tensorrt", Directories());
  EXPECT_NO_THROW(RequireRunsOn(tensorrt, DeviceOf("a100")));
  EXPECT_THROW(RequireRunsOn(tensorrt, DeviceOf("mi300x")), Error);
  EXPECT_NO_THROW(RequireRunsOn(FindRuntime("pytorch", Directories()), DeviceOf("mi300x")));
}

// Kernels of a network under a runtime.
struct Launches {
  std::string runtime;
  std::ptrdiff_t resnet50;     // of 53 convolutions, 49 activations, 16 additions, 3 others
  std::ptrdiff_t bert_layer;   // of one layer of BERT
  bool flash_half, flash_single;
};

class Networks : public testing::TestWithParam<Launches> {};

TEST_P(Networks, HaveTheKernelsThatTheFileSays) {
  const Launches& c = GetParam();
  const ReportOptions options = With(c.runtime);
  EXPECT_EQ(static_cast<std::ptrdiff_t>(Labels(MakePlan(Network("resnet50"), options.plan)).size()),
            c.resnet50);
  const auto kernels = [&](const std::string& type) {
    InferredModel bert = Export("bert_torchscript", {{"sequence", 16}});
    if (!type.empty()) Retype(bert, *ParseDType(type));
    return MakePlan(bert, options.plan);
  };
  const Plan single = kernels(""), half = kernels("f16");
  EXPECT_EQ(CountLabels(single, "attention"), c.flash_single ? 2 : 0);
  EXPECT_EQ(CountLabels(half, "attention"), c.flash_half ? 2 : 0);
  EXPECT_EQ(CountLabels(half, "softmax"), c.flash_half ? 0 : 2);
}

}  // namespace
}  // namespace dlcost
