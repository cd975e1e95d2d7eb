#include <algorithm>

#include "estimator/report/report.h"

namespace dlcost {

std::optional<Intensity> Sums::intensity() const {
  if (bytes() == Bytes(0)) return std::nullopt;
  return flops / bytes();
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

void SortGroups(std::vector<GroupRow>& groups, bool by_time) {
  std::stable_sort(groups.begin(), groups.end(), [&](const GroupRow& a, const GroupRow& b) {
    if (by_time && a.sums.bound != b.sums.bound) return a.sums.bound > b.sums.bound;
    if (a.sums.flops != b.sums.flops) return a.sums.flops > b.sums.flops;
    if (a.sums.bytes() != b.sums.bytes()) return a.sums.bytes() > b.sums.bytes();
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
