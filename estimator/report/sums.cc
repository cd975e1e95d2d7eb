#include <algorithm>
#include <unordered_map>

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

std::vector<GroupRow> GroupNodes(const Report& report,
                                 const std::function<std::string_view(const NodeRow&)>& name_of) {
  std::vector<GroupRow> groups;
  std::unordered_map<std::string_view, std::size_t> index;
  const auto group = [&](const NodeRow& node) -> Sums& {
    const std::string_view name = name_of(node);
    const auto [at, fresh] = index.emplace(name, groups.size());
    if (fresh) groups.push_back({std::string(name), {}});
    return groups[at->second].sums;
  };
  for (const NodeRow& node : report.nodes) {
    Sums work;
    work.nodes = 1;
    work.macs = node.sums.macs;
    work.flops = node.sums.flops;
    work.work = node.sums.work;
    Accumulate(group(node), work);
  }
  for (const KernelRow& kernel : report.kernels) {
    Sums traffic = kernel.sums;
    traffic.nodes = 0;
    traffic.macs = Macs();
    traffic.flops = Flops();
    traffic.work = Work();
    Accumulate(group(report.nodes[kernel.main]), traffic);
  }
  return groups;
}

}  // namespace dlcost
