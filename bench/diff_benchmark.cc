// Matching and explaining the difference of two large reports, inside one process.
#include <benchmark/benchmark.h>

#include "estimator/infer/infer.h"
#include "estimator/onnx/reader.h"
#include "estimator/regress/diff.h"
#include "models/networks/networks.h"

namespace dlcost::bench {
namespace {

// About `nodes` nodes: a deep Transformer encoder, with weights and shape arithmetic.
Report DeepReport(std::int64_t nodes, const char* vocabulary) {
  constexpr std::int64_t kNodesPerLayer = 47;
  const NetworkOptions options = {{"layers", std::to_string(nodes / kNodesPerLayer)},
                                  {"vocabulary", vocabulary}};
  InferOptions infer;
  infer.bindings.dims = {{"batch", 1}, {"sequence", 16}};
  const InferredModel model =
      Infer(ReadModelFromBytes(BuildNetwork("bert-base", options), "deep.onnx"), infer);
  return BuildReport(model, std::nullopt, {});
}

void DiffDeepModels(benchmark::State& state) {
  const Report before = DeepReport(state.range(0), "30522");
  const Report after = DeepReport(state.range(0), "30523");
  for ([[maybe_unused]] auto _ : state) {
    const ReportDiff diff = DiffReports(before, after);
    if (diff.changes.size() != 1) state.SkipWithError("one change expected");
  }
  state.counters["nodes"] = static_cast<double>(before.nodes.size());
}
BENCHMARK(DiffDeepModels)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dlcost::bench
