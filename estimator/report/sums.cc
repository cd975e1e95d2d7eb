#include <algorithm>

#include "estimator/report/report.h"

namespace dlcost {

std::optional<Intensity> Sums::intensity() const {
  if (bytes() == Bytes(0)) return std::nullopt;
  return flops / bytes();
}

std::string OperationUnit(std::string_view roof) {
  const std::string_view type = roof.substr(roof.rfind(' ') + 1);
  return type.starts_with("int") || type.starts_with("uint") ? "OP" : "FLOP";
}

Bytes KernelRow::executed_bytes() const {
  if (execution == nullptr) return sums.bytes();
  return sums.bytes() + execution->ExtraRead() + execution->ExtraWritten();
}

std::optional<double> Report::BackwardRatio() const {
  Macs forward, backward;
  for (const GroupRow& row : by_phase) {
    if (row.name == Name(Phase::kForward)) forward += row.sums.macs;
    if (row.name == Name(Phase::kBackwardData) || row.name == Name(Phase::kBackwardWeights)) {
      backward += row.sums.macs;
    }
  }
  if (forward == Macs()) return std::nullopt;
  return backward.AsDouble() / forward.AsDouble();
}

std::optional<bool> Report::fits() const {
  if (!device || !device->memory) return std::nullopt;
  return needed() <= *device->memory;
}

void Accumulate(Sums& into, const Sums& what) {
  into.nodes += what.nodes;
  into.macs += what.macs;
  into.flops += what.flops;
  into.work.Add(what.work);
  into.bytes_read += what.bytes_read;
  into.bytes_written += what.bytes_written;
  into.compute += what.compute;
  into.memory += what.memory;
  into.bound += what.bound;
  if (what.expected) into.expected = into.expected.value_or(Seconds(0)) + *what.expected;
}

std::string GroupRow::LimitedBy() const {
  const auto most =
      std::max_element(waits_for.begin(), waits_for.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == waits_for.end() ? "" : most->first;
}

bool CostsMore(const Sums& a, const Sums& b, bool by_time) {
  if (by_time) {
    const Seconds x = a.expected.value_or(Seconds()), y = b.expected.value_or(Seconds());
    if (x != y) return x > y;
    if (a.bound != b.bound) return a.bound > b.bound;
  }
  if (a.flops != b.flops) return a.flops > b.flops;
  return a.bytes() > b.bytes();
}

void SortGroups(std::vector<GroupRow>& groups, bool by_time) {
  std::sort(groups.begin(), groups.end(), [&](const GroupRow& a, const GroupRow& b) {
    if (CostsMore(a.sums, b.sums, by_time)) return true;
    if (CostsMore(b.sums, a.sums, by_time)) return false;
    return a.name < b.name;
  });
}

std::optional<Intensity> GroupRow::intensity() const {
  if (sums.bytes() == Bytes(0)) return std::nullopt;
  return kernel_flops / sums.bytes();
}

Doubt NodeRow::doubt() const {
  Doubt doubt;
  const bool runs = status == NodeStatus::kCounted || status == NodeStatus::kBounded;
  const Doubt::Part part = {.nodes = 1,
                            .macs = sums.macs,
                            .flops = sums.flops,
                            .bytes = sums.bytes(),
                            .time = sums.bound,
                            .expected = sums.expected.value_or(Seconds())};
  if (runs && upper_bound) doubt.at_most = part;
  if (runs && assumed) doubt.assumed = part;
  doubt.unknown = status == NodeStatus::kUnknown ? 1 : 0;
  doubt.bounded = status == NodeStatus::kBounded ? 1 : 0;
  return doubt;
}

GroupRow& Groups::operator[](std::string_view name) {
  const auto [at, fresh] = index_.emplace(name, groups_.size());
  if (fresh) groups_.emplace_back(name, GroupRow());
  return groups_[at->second].second;
}

std::vector<GroupRow> Groups::Rows() const {
  std::vector<GroupRow> rows;
  for (const auto& [name, group] : groups_) {
    rows.push_back(group);
    rows.back().name = name;
  }
  return rows;
}

}  // namespace dlcost
