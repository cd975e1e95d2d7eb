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

Sums& Groups::operator[](std::string_view name) {
  const auto [at, fresh] = index_.emplace(name, groups_.size());
  if (fresh) groups_.emplace_back(name, Sums());
  return groups_[at->second].second;
}

std::vector<GroupRow> Groups::Rows() const {
  std::vector<GroupRow> rows;
  for (const auto& [name, sums] : groups_) rows.push_back({std::string(name), sums});
  return rows;
}

}  // namespace dlcost
