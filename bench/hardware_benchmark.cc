// What a look-up costs at start-up: by id (one file and what it extends), by alias (a scan of the
// heads of all files), and all devices (`--gpu all`).
#include <benchmark/benchmark.h>

#include "estimator/hardware/database.h"

namespace dlcost {
namespace {

const DeviceDatabase& Database() {
  static const DeviceDatabase database({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"});
  return database;
}

void FindById(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Database().Find("a100-sxm4-80gb"));
}
BENCHMARK(FindById)->Unit(benchmark::kMillisecond);

void FindByAlias(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Database().Find("trn2"));
}
BENCHMARK(FindByAlias)->Unit(benchmark::kMillisecond);

void ReadAll(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Database().All());
}
BENCHMARK(ReadAll)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dlcost
