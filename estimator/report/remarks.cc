#include "estimator/report/remarks.h"

#include <fmt/format.h>

#include "estimator/report/certainty_text.h"
#include "estimator/report/format.h"

namespace dlcost {

NodeRemarks::NodeRemarks(const Report& report) : report_(report) {
  for (std::size_t n = 0; n < report.nodes.size(); ++n) {
    for (const Operand& output : report.nodes[n].outputs) {
      if (output.name.empty()) continue;
      by_output_.emplace(output.name, n);
      break;  // the first one that it has
    }
  }
  for (const KernelRow& kernel : report.kernels) kernels_[kernel.id] = &kernel;
}

std::vector<std::pair<std::string, std::string>> NodeRemarks::Of(const std::string& op,
                                                                 const std::string& output) const {
  std::vector<std::pair<std::string, std::string>> remarks;
  const auto found = by_output_.find(output);
  if (found == by_output_.end() || report_.nodes[found->second].op != op) return remarks;
  const NodeRow& node = report_.nodes[found->second];
  remarks.emplace_back("dlcost.status", std::string(Name(node.status)));
  if (node.status == NodeStatus::kUnknown) return remarks;
  const Doubt doubt = node.doubt();
  const auto count = [&](const char* key, Standing standing, std::int64_t value) {
    if (value != 0) remarks.emplace_back(key, Marked(standing, std::to_string(value)));
  };
  count("dlcost.macs", MacsStanding(doubt), node.sums.macs.value());
  count("dlcost.flops", FlopsStanding(doubt), node.sums.flops.value());
  count("dlcost.bytes", BytesStanding(doubt), node.sums.bytes().value());
  const auto kernel = kernels_.find(node.kernel);
  if (kernel == kernels_.end() || kernel->second->launches == Count(0)) return remarks;
  const KernelRow& row = *kernel->second;
  remarks.emplace_back("dlcost.kernel", fmt::format("{}: {}", row.id, row.label));
  if (row.main != found->second) {
    remarks.emplace_back("dlcost.runs_in", report_.nodes[row.main].name);
    return remarks;  // its time is told there
  }
  if (!report_.device) return remarks;
  remarks.emplace_back("dlcost.bound",
                       Marked(BoundStanding(row.doubt), ReadableTime(row.sums.bound)));
  if (row.sums.expected) {
    remarks.emplace_back("dlcost.expected",
                         Marked(ExpectedStanding(row.doubt), ReadableTime(*row.sums.expected)));
    const double whole = report_.totals.expected.value_or(Seconds()).value();
    if (whole > 0)
      remarks.emplace_back("dlcost.share", Percent(row.sums.expected->value() / whole));
  }
  remarks.emplace_back("dlcost.limited_by", row.LimitedBy());
  return remarks;
}

std::vector<std::pair<std::string, std::string>> NodeRemarks::OfModel() const {
  const Sums& totals = report_.totals;
  const Doubt& doubt = report_.certainty.doubt;
  std::vector<std::pair<std::string, std::string>> remarks = {
      {"dlcost.macs", Marked(MacsStanding(doubt), std::to_string(totals.macs.value()))},
      {"dlcost.flops", Marked(FlopsStanding(doubt), std::to_string(totals.flops.value()))},
      {"dlcost.bytes", Marked(BytesStanding(doubt), std::to_string(totals.bytes().value()))}};
  for (const auto& [name, size] : report_.model.dims) {
    remarks.emplace_back("dlcost.dim." + name, std::to_string(size));
  }
  if (!report_.device) return remarks;
  remarks.emplace_back("dlcost.device", report_.device->id);
  remarks.emplace_back("dlcost.bound", Marked(BoundStanding(doubt), ReadableTime(totals.bound)));
  if (totals.expected) {
    remarks.emplace_back("dlcost.expected",
                         Marked(ExpectedStanding(doubt), ReadableTime(*totals.expected)));
  }
  return remarks;
}

}  // namespace dlcost
