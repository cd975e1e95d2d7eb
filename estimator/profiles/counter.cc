#include "estimator/profiles/counter.h"

#include <algorithm>
#include <array>
#include <unordered_map>

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
  // VTune puts a group in front: "Hardware Event Count:INST_RETIRED.ANY".
  constexpr std::string_view kVTuneGroup = "Hardware Event Count:";
  if (raw.starts_with(kVTuneGroup)) raw.remove_prefix(kVTuneGroup.size());
  const auto found = kByName.find(raw);
  return found == kByName.end() ? nullptr : found->second;
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
    counters.back().value += raw->value * rule.factor;
    counters.back().sources.push_back(raw->name);
  }
  return counters;
}

}  // namespace dlcost
