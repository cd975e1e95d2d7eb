// Reading and inferring, inside one process: time per node of a long chain, and how little stored
// weights cost.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bench/synthetic.h"
#include "estimator/infer/infer.h"
#include "estimator/onnx/reader.h"

namespace dlcost::bench {
namespace {

// A file for the duration of a benchmark.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes)
      : path_(std::filesystem::temp_directory_path() /
              ("dlcost_bench_" + std::to_string(getpid()) + ".onnx")) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

void ReadChain(benchmark::State& state) {
  const std::string bytes = Chain(state.range(0));
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(ReadModelFromBytes(bytes, "chain.onnx"));
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK(ReadChain)
    ->Arg(2'000)
    ->Arg(20'000)
    ->Arg(200'000)
    ->Complexity(benchmark::oN)
    ->Unit(benchmark::kMillisecond);

void ReadAndInferChain(benchmark::State& state) {
  const std::string bytes = Chain(state.range(0));
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(Infer(ReadModelFromBytes(bytes, "chain.onnx"), {}));
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK(ReadAndInferChain)
    ->Arg(2'000)
    ->Arg(20'000)
    ->Arg(200'000)
    ->Complexity(benchmark::oN)
    ->Unit(benchmark::kMillisecond);

void ReadStoredWeights(benchmark::State& state, const std::string& network) {
  const TemporaryFile file(WithStoredWeights(network));
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(ReadModel(file.path()));
  state.counters["file_bytes"] = static_cast<double>(std::filesystem::file_size(file.path()));
}
BENCHMARK_CAPTURE(ReadStoredWeights, resnet50, "resnet50")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(ReadStoredWeights, vgg16, "vgg16")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace dlcost::bench
