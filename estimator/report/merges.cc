#include "estimator/report/merges.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "estimator/roofline/run.h"

namespace dlcost {
namespace {

constexpr double kWorthwhile = 0.05;  // of the time of the products

// The tensor behind views: what a reshaped operand is made of.
class Sources {
 public:
  explicit Sources(const Report& report) {
    for (const NodeRow& node : report.nodes) {
      if (node.status != NodeStatus::kView || node.inputs.empty() || node.outputs.empty()) continue;
      source_[node.outputs[0].name] = Of(node.inputs[0].name);
    }
  }
  std::string Of(const std::string& name) const {
    const auto found = source_.find(name);
    return found == source_.end() ? name : found->second;
  }

 private:
  std::map<std::string, std::string> source_;
};

// The product alone, of a type: operands read, result written.
Kernel ProductOf(const GemmNest& nest, DType type, Count repeat) {
  Kernel kernel;
  kernel.nest = nest;
  kernel.nest_name = "product";
  kernel.math = type;
  kernel.repeat = repeat;
  kernel.work.Add(OpClass::kMac, type, MacsOf(nest) * repeat);
  kernel.needed = kernel.work;
  const Count read = nest.m * nest.k + nest.k * nest.n;
  kernel.bytes_read = SizeOf(type, read * nest.batch * repeat);
  kernel.bytes_written = SizeOf(type, nest.m * nest.n * nest.batch * repeat);
  return kernel;
}

}  // namespace

std::vector<Merge> FindMerges(const Report& report, const Device& device) {
  const Runner runner(&device, report.options.run);
  if (!runner.timing()) return {};
  const Sources sources(report);
  // Shared operand, its side, type, extents of that side, and how often they run.
  using Key = std::tuple<std::string, int, DType, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Key, std::vector<std::size_t>> groups;
  for (std::size_t k = 0; k < report.kernels.size(); ++k) {
    const KernelRow& kernel = report.kernels[k];
    const auto* nest = std::get_if<GemmNest>(&kernel.nest);
    if (!nest || kernel.launches == Count(0) || nest->batch != Count(1)) continue;
    const Operands& inputs = report.nodes[kernel.main].inputs;
    const auto a = static_cast<std::size_t>(nest->a_input);
    const auto b = static_cast<std::size_t>(nest->b_input);
    if (a >= inputs.size() || b >= inputs.size() || !inputs[b].weight || inputs[a].weight) continue;
    groups[{sources.Of(inputs[a].name), 0, kernel.math, nest->m.value(), nest->k.value(),
            kernel.repeat.value()}]
        .push_back(k);
  }
  std::vector<Merge> merges;
  for (const auto& [key, kernels] : groups) {
    if (kernels.size() < 2) continue;
    Merge merge;
    merge.operand = std::get<0>(key);
    GemmNest stacked;
    double apart = 0;
    Count repeat = 1;
    for (const std::size_t k : kernels) {
      const KernelRow& kernel = report.kernels[k];
      const auto& nest = std::get<GemmNest>(kernel.nest);
      const Count n = stacked.n;
      stacked = nest;
      stacked.n = n + nest.n;
      repeat = kernel.repeat;
      merge.nodes.push_back(report.nodes[kernel.main].name);
      const KernelRun run = runner.Run(ProductOf(nest, kernel.math, repeat));
      if (run.expected) apart += run.expected->time.expected;
    }
    const KernelRun run = runner.Run(ProductOf(stacked, std::get<2>(key), repeat));
    if (!run.expected || apart <= 0) continue;
    merge.m = stacked.m;
    merge.n = stacked.n;
    merge.k = stacked.k;
    merge.apart = Seconds(apart);
    merge.merged = Seconds(run.expected->time.expected);
    if (merge.saved().value() > kWorthwhile * apart) merges.push_back(std::move(merge));
  }
  std::stable_sort(merges.begin(), merges.end(), [](const Merge& x, const Merge& y) {
    return x.saved().value() > y.saved().value();
  });
  return merges;
}

}  // namespace dlcost
