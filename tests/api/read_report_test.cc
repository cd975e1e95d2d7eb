// A report that is read back is the one that was written: in JSON to the byte, and in every other
// rendering.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "dlcost/dlcost.h"

namespace dlcost::api {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = DLCOST_SOURCE_DIR;

// Sizes for what the model leaves open.
Bindings Sizes(const Model& model, std::int64_t size) {
  Bindings bindings;
  for (const std::string& dim : model.open_dims()) bindings.dims[dim] = size;
  return bindings;
}

// Of texts that are too long to be shown side by side: what stands where they begin to differ.
void ExpectSameText(const std::string& read, const std::string& written) {
  const auto [a, b] = std::mismatch(read.begin(), read.end(), written.begin(), written.end());
  if (a == read.end() && b == written.end()) return;
  const auto shown = [](const std::string& text, std::string::const_iterator at) {
    const auto index = static_cast<std::size_t>(at - text.begin());
    const std::size_t from = index < 300 ? 0 : index - 300;
    return text.substr(from, 400);
  };
  EXPECT_EQ(shown(read, a), shown(written, b));
}

void ExpectSameReadBack(const Report& report) {
  const std::string json = report.Json();
  const Report read = Report::FromJson(json, "report.json");
  ExpectSameText(read.Json(), json);
  std::vector<std::string> groupings = {"op", "scope", "node", "kernel"};
  if (!report.by_phase().empty()) groupings.emplace_back("phase");
  for (const std::string& by : groupings) {
    EXPECT_EQ(read.Text(by), report.Text(by)) << by;
    EXPECT_EQ(read.Csv(by), report.Csv(by)) << by;
  }
  EXPECT_EQ(read.Markdown(), report.Markdown());
  EXPECT_EQ(read.exact(), report.exact());
}

TEST(ReadReport, IsTheOneThatWasWritten) {
  for (const char* name : {"alexnet", "resnet50", "mobilenet-v2", "lstm", "gpt2", "bert-base"}) {
    const Model model = Model::Read(kSource / "models/networks" / (std::string(name) + ".onnx"));
    for (const char* gpu : {"a100", "h100", "v100", "epyc-7763", ""}) {
      SCOPED_TRACE(std::string(name) + " on " + gpu);
      const auto device = *gpu == 0 ? std::optional<Device>() : FindDevice(gpu);
      ExpectSameReadBack(Count(model, device, Sizes(model, 4)));
    }
  }
}

TEST(ReadReport, WithEveryOption) {
  const Model model = Model::Read(kSource / "models/networks/gpt2.onnx");
  Options options;
  options.convention = "torch";
  options.runtime = "onnxruntime";
  options.fusion = "ideal";
  options.attention = "materialized";
  options.math = "tf32";
  options.cache = "warm";
  options.launch = "eager";
  options.dtype = "fp16";
  ExpectSameReadBack(Count(model, FindDevice("h100"), Sizes(model, 16), options));
  options = {.convolution = "winograd", .scope_depth = 0};
  const Model resnet = Model::Read(kSource / "models/networks/resnet50.onnx");
  ExpectSameReadBack(Count(resnet, FindDevice("v100"), {.batch = 8}, options));
}

TEST(ReadReport, OfATrainingStep) {
  for (const char* name : {"mobilenet-v2", "gpt2"}) {
    const Model model = Model::Read(kSource / "models/networks" / (std::string(name) + ".onnx"));
    for (const char* gpu : {"a100", ""}) {
      SCOPED_TRACE(std::string(name) + " on " + gpu);
      const auto device = *gpu == 0 ? std::optional<Device>() : FindDevice(gpu);
      Options options;
      options.optimizer = "adamw";
      options.precision = "amp-bf16";
      options.recompute = "full";
      ExpectSameReadBack(Count(model, device, Sizes(model, 2), options));
    }
  }
}

// What a file leaves open is guessed, so that counts are upper bounds and assumptions, too.
TEST(ReadReport, OfModelsThatOthersMade) {
  const fs::path folder = kSource / "../shared/models/real";
  if (!fs::is_directory(folder)) GTEST_SKIP() << "no folder " << folder << " beside the sources";
  int doubtful = 0, counted = 0;
  for (const auto& file : fs::directory_iterator(folder)) {
    if (file.path().extension() != ".onnx") continue;
    SCOPED_TRACE(file.path().filename());
    try {
      const Model model = Model::Read(file.path());
      Bindings bindings = Sizes(model, 4);
      bindings.assume_typical = true;
      const Report report = Count(model, FindDevice("a100"), bindings);
      ExpectSameReadBack(report);
      ++counted;
      doubtful += report.exact() ? 0 : 1;
    } catch (const Error&) {  // sizes that do not go together
    }
  }
  EXPECT_GT(counted, 10);
  EXPECT_GT(doubtful, 3);
}

}  // namespace
}  // namespace dlcost::api
