// Points per second of a compiled sweep: counts and bounds in blocks, expected times one by one.
#include <benchmark/benchmark.h>

#include "estimator/hardware/database.h"
#include "estimator/onnx/reader.h"
#include "estimator/sweep/compiled_model.h"
#include "models/networks/networks.h"

namespace dlcost::bench {
namespace {

constexpr std::int64_t kBlock = 4096;

// A network over batch (and sequence) on one device.
struct Case {
  Case(const char* name, bool sequence) : model(ReadModelFromBytes(BuildNetwork(name), name)) {
    sweep.model = &model;
    sweep.axes.push_back({.name = "batch", .batch = true});
    for (std::int64_t size = 1; size <= 1024; ++size) sweep.axes[0].sizes.push_back(size);
    if (sequence) {
      sweep.axes.push_back({.name = "sequence"});
      for (std::int64_t size = 2; size <= 512; ++size) sweep.axes[1].sizes.push_back(size);
    }
    sweep.devices.push_back(
        DeviceDatabase::FromEnvironment(DLCOST_SOURCE_DIR "/hw_specs").Find("a100", {}));
    sweep.setups[0].report.plan.fusion = Fusion::kDefault;
    Point base;
    for (const SweepAxis& axis : sweep.axes) base.push_back(axis.sizes[axis.sizes.size() / 2]);
    sweep_model.emplace(sweep);
    compiled.emplace(sweep, *sweep_model, 0, base);
    times.emplace_back(sweep.devices[0], sweep.setups[0].report.run);
  }

  Model model;
  Sweep sweep;
  std::optional<SweepModel> sweep_model;
  std::optional<CompiledModel> compiled;
  std::deque<KernelTimes> times;
};

void CountsAndBounds(benchmark::State& state, const char* name, bool sequence) {
  Case made(name, sequence);
  const std::int64_t all = made.sweep.Combinations();
  PointBlock points(kBlock, static_cast<Eigen::Index>(made.sweep.axes.size()));
  CompiledModel::Block block;
  std::int64_t next = 0;
  for ([[maybe_unused]] auto _ : state) {
    for (Eigen::Index row = 0; row < kBlock; ++row) {
      std::int64_t at = next++ % all;
      for (std::size_t a = made.sweep.axes.size(); a-- > 0;) {
        const auto& sizes = made.sweep.axes[a].sizes;
        const auto count = static_cast<std::int64_t>(sizes.size());
        points(row, static_cast<Eigen::Index>(a)) = sizes[static_cast<std::size_t>(at % count)];
        at /= count;
      }
    }
    if (!made.compiled->EvaluateBlock(points, made.times, block)) state.SkipWithError("too large");
    benchmark::DoNotOptimize(block.bound[0].data());
  }
  state.SetItemsProcessed(state.iterations() * kBlock);
}

void ExpectedTimes(benchmark::State& state, const char* name, bool sequence) {
  Case made(name, sequence);
  const std::int64_t all = made.sweep.Combinations();
  std::int64_t next = 0;
  std::vector<std::vector<SweepPoint>> out;
  for ([[maybe_unused]] auto _ : state) {
    std::vector<Point> points;
    for (int i = 0; i < 256; ++i) points.push_back(made.sweep.SizesOf(next++ % all));
    made.compiled->Evaluate(points, made.times, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * 256);
}

BENCHMARK_CAPTURE(CountsAndBounds, resnet50_batch, "resnet50", false);
BENCHMARK_CAPTURE(CountsAndBounds, bert_batch_sequence, "bert-base", true);
BENCHMARK_CAPTURE(ExpectedTimes, resnet50_batch, "resnet50", false);
BENCHMARK_CAPTURE(ExpectedTimes, bert_batch_sequence, "bert-base", true);

}  // namespace
}  // namespace dlcost::bench
