// One loaded model, many threads: reports per second, and processor time per report, which rises
// where threads wait for each other's memory or locks.
#include <benchmark/benchmark.h>

#include "dlcost/dlcost.h"

namespace dlcost::bench {
namespace {

// bench_threads --benchmark_min_time=2: real time per report falls as 1 / threads up to the number
// of processors; CPU time per report stays.
void CountOneModel(benchmark::State& state) {
  static const api::Model model =
      api::Model::Read(DLCOST_SOURCE_DIR "/models/networks/bert-base.onnx");
  static const api::Device device = api::FindDevice("h100");
  static const std::string expected =
      api::Count(model, device, {.dims = {{"sequence", 128}}}).Json();
  for ([[maybe_unused]] auto _ : state) {
    if (api::Count(model, device, {.dims = {{"sequence", 128}}}).Json() != expected) {
      state.SkipWithError("another answer");
    }
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(CountOneModel)->ThreadRange(1, 8)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dlcost::bench
