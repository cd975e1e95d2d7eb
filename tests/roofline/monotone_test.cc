// More work takes no less time: ResNet-50, BERT and Llama on devices of ten makers and kinds, over
// batch and sequence. The bound never falls. The expected time of a kernel falls nowhere but where
// its library takes another one, as recorded names and grids say that it does.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "estimator/roofline/run.h"
#include "models/networks/networks.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

const char* const kDevices[] = {
    "p4",     "v100-sxm2-16gb", "t4",     "a100-sxm4-80gb", "h100-sxm5",         "rtx-4090",
    "mi300x", "tpu-v5e",        "gaudi2", "trainium1",      "xeon-platinum-8380"};

// Powers of two with their neighbours, 1 to `most`.
std::vector<std::int64_t> Sizes(std::int64_t most) {
  std::set<std::int64_t> sizes;
  for (std::int64_t power = 1; power <= most; power *= 2) {
    for (const std::int64_t size : {power - 1, power, power + 1}) {
      if (size >= 1 && size <= most) sizes.insert(size);
    }
  }
  return {sizes.begin(), sizes.end()};
}

struct Axis {
  const char* network;
  NetworkOptions options;
  const char* dim;  // "" for the batch
  std::int64_t most;
  std::vector<std::string> others;
};

// Layers of a transformer are alike: two of them tell as much as all.
const Axis kAxes[] = {
    {"resnet50", {}, "", 512, {}},
    {"bert-base", {{"layers", "2"}}, "", 512, {"sequence=128"}},
    {"bert-base", {{"layers", "2"}}, "sequence", 512, {}},
    {"llama3-8b", {{"layers", "2"}}, "", 512, {"sequence=128"}},
    {"llama3-8b", {{"layers", "2"}}, "sequence", 8192, {}},
};

struct Point {
  std::int64_t size = 0;
  double bound = 0;
  std::vector<KernelRun> runs;
  std::vector<std::string> labels, kernels;
};

// Which kernel runs: the algorithm, its tile and the parts of k.
std::string KernelName(const KernelRun& run) {
  const TileGrid* grid = run.execution == nullptr ? nullptr : run.execution->Grid();
  if (grid == nullptr || grid->cut) return run.algorithm;
  return fmt::format("{}, {} x {} x {} / {}", run.algorithm, grid->tile_m, grid->tile_n,
                     grid->tile_k, grid->split_k);
}

Point PointOf(const Plan& plan, std::int64_t size, const Device& device) {
  Point point{.size = size};
  const Runner runner(&device, {});
  for (const Kernel& kernel : plan.kernels) {
    if (kernel.repeat == Count(0)) continue;
    point.runs.push_back(runner.Run(kernel));
    point.labels.push_back(fmt::format("{} {}", kernel.id, kernel.label));
    // A kernel of its own serves one query.
    const auto* attention = std::get_if<AttentionNest>(&kernel.nest);
    const bool one_query = attention != nullptr && attention->q_len == Count(1);
    point.kernels.push_back(KernelName(point.runs.back()) + (one_query ? ", one query" : ""));
    point.bound += point.runs.back().bound.time.value();
  }
  return point;
}

class Monotone : public testing::TestWithParam<std::size_t> {};

TEST_P(Monotone, MoreWorkTakesNoLessTime) {
  const Axis& axis = kAxes[GetParam()];
  const std::string bytes = BuildNetwork(axis.network, axis.options);
  std::map<std::string, Point> before;
  for (const std::int64_t size : Sizes(axis.most)) {
    InferOptions infer;
    infer.bindings.batch = *axis.dim == 0 ? size : 1;
    for (const std::string& dim : axis.others) AddDimBinding(infer.bindings, dim);
    if (*axis.dim != 0) AddDimBinding(infer.bindings, fmt::format("{}={}", axis.dim, size));
    const InferredModel model = Infer(ReadModelFromBytes(bytes, "network.onnx"), infer);
    const Plan plan = MakePlan(model, {.fusion = Fusion::kDefault});
    for (const char* name : kDevices) {
      static const DeviceDatabase database({DLCOST_SOURCE_DIR "/hw_specs"});
      Point point = PointOf(plan, size, database.Find(name));
      Point& last = before[name];
      SCOPED_TRACE(fmt::format("{} on {}, {} {} after {}", axis.network, name,
                               *axis.dim == 0 ? "batch" : axis.dim, size, last.size));
      // One position fuses otherwise.
      if (last.labels == point.labels) {
        EXPECT_GE(point.bound, last.bound * (1 - 1e-12));
        for (std::size_t i = 0; i < point.runs.size(); ++i) {
          const KernelRun &less = last.runs[i], &more = point.runs[i];
          if (!less.expected || last.kernels[i] != point.kernels[i]) continue;
          EXPECT_GE(more.expected->time.expected, less.expected->time.expected * (1 - 1e-9))
              << point.labels[i] << ": " << point.kernels[i];
        }
      }
      last = std::move(point);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Axes, Monotone, testing::Range<std::size_t>(0, std::size(kAxes)),
                         [](const testing::TestParamInfo<std::size_t>& axis) {
                           const Axis& a = kAxes[axis.param];
                           std::string name =
                               fmt::format("{}_{}", a.network, *a.dim == 0 ? "batch" : a.dim);
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace dlcost
