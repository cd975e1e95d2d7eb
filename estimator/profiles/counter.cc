#include "estimator/profiles/counter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "estimator/core/error.h"
#include "estimator/profiles/text.h"

namespace dlcost {

std::string_view Name(Metric metric) {
  switch (metric) {
    case Metric::kFlopsF16:
      return "flops_f16";
    case Metric::kFlopsF32:
      return "flops_f32";
    case Metric::kFlopsF64:
      return "flops_f64";
    case Metric::kFlops:
      return "flops";
    case Metric::kTensorInstructions:
      return "tensor_instructions";
    case Metric::kTensorFlops:
      return "tensor_flops";
    case Metric::kTensorActive:
      return "tensor_active";
    case Metric::kDramRead:
      return "dram_read_bytes";
    case Metric::kDramWrite:
      return "dram_write_bytes";
    case Metric::kDram:
      return "dram_bytes";
    case Metric::kL2Read:
      return "l2_read_bytes";
    case Metric::kL2Write:
      return "l2_write_bytes";
    case Metric::kL2:
      return "l2_bytes";
    case Metric::kGlobalLoads:
      return "global_load_transactions";
    case Metric::kGlobalStores:
      return "global_store_transactions";
    case Metric::kOccupancy:
      return "occupancy";
    case Metric::kInstructions:
      return "instructions";
    case Metric::kCycles:
      return "cycles";
    case Metric::kDuration:
      return "duration_s";
    case Metric::kIpc:
      return "ipc";
    case Metric::kComputeUtilization:
      return "compute_utilization";
    case Metric::kDramUtilization:
      return "dram_utilization";
    case Metric::kMemoryUtilization:
      return "memory_utilization";
    case Metric::kFlopEfficiencyF16:
      return "flop_efficiency_f16";
    case Metric::kFlopEfficiencyF32:
      return "flop_efficiency_f32";
    case Metric::kFlopEfficiencyF64:
      return "flop_efficiency_f64";
    case Metric::kSmEfficiency:
      return "sm_efficiency";
    case Metric::kWarpEfficiency:
      return "warp_efficiency";
    case Metric::kLoadEfficiency:
      return "load_efficiency";
    case Metric::kStoreEfficiency:
      return "store_efficiency";
    case Metric::kDramReadRate:
      return "dram_read_bytes_per_s";
    case Metric::kDramWriteRate:
      return "dram_write_bytes_per_s";
    case Metric::kAllocated:
      return "allocated_bytes";
    case Metric::kDramRate:
      return "dram_bytes_per_s";
  }
  return "";
}

const CounterRule* FindCounterRule(std::string_view raw) {
  static const auto kByName = [] {
    std::unordered_map<std::string_view, const CounterRule*> rules;
    for (const CounterRule& rule : CounterRules()) rules.emplace(rule.raw, &rule);
    return rules;
  }();
  raw = Trim(raw);
  // VTune puts a group in front: "Hardware Event Count:INST_RETIRED.ANY"; and the unit behind that
  // counted, "Uncore Event Count:UNC_M_CAS_COUNT.RD[UNIT0]".
  for (const std::string_view group : {"Hardware Event Count:", "Uncore Event Count:"}) {
    if (!raw.starts_with(group)) continue;
    raw.remove_prefix(group.size());
    raw = raw.substr(0, raw.find("[UNIT"));
  }
  const auto found = kByName.find(raw);
  return found == kByName.end() ? nullptr : found->second;
}

std::string UnknownCountersText(std::span<const std::string> names, std::size_t most) {
  if (names.empty()) return "";
  std::string text = fmt::format("{} counter{} without a meaning here: ", names.size(),
                                 names.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < names.size() && i < most; ++i) {
    text += (i == 0 ? "" : ", ") + Printable(names[i], 60);
  }
  if (names.size() > most) text += fmt::format(", {} more", names.size() - most);
  return text;
}

bool CounterSet::Add(std::string_view raw, double value) {
  const CounterRule* rule = FindCounterRule(raw);
  if (!rule) return false;
  raw_.push_back({rule, std::string(Trim(raw)), value});
  return true;
}

std::vector<Counter> CounterSet::Normalize() const {
  std::vector<const Raw*> sorted;
  for (const Raw& raw : raw_) sorted.push_back(&raw);
  // By meaning, then by place in the table: totals stand before parts there.
  std::stable_sort(sorted.begin(), sorted.end(), [](const Raw* a, const Raw* b) {
    if (a->rule->metric != b->rule->metric) return a->rule->metric < b->rule->metric;
    if (a->rule->kind != b->rule->kind) return a->rule->kind < b->rule->kind;
    return a->rule < b->rule;
  });
  std::vector<Counter> counters;
  bool total = false;
  for (const Raw* raw : sorted) {
    const CounterRule& rule = *raw->rule;
    if (counters.empty() || counters.back().metric != rule.metric) {
      counters.push_back({rule.metric, 0, {}});
      total = rule.kind == CounterRule::kTotal;
    } else if (total) {
      continue;
    }
    const double value = raw->value * rule.factor;
    if (rule.kind == CounterRule::kLargest && !counters.back().sources.empty()) {
      counters.back().value = std::max(counters.back().value, value);
    } else {
      counters.back().value += value;
    }
    counters.back().sources.push_back(raw->name);
  }
  return counters;
}

}  // namespace dlcost
