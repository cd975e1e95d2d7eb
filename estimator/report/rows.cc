#include "estimator/report/rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/report/layers.h"

namespace dlcost {
namespace {

// The largest term of the expected time; without one, what bounds it.
std::string LimiterOf(const std::string& waits_for, const Sums& sums) {
  if (!waits_for.empty()) return waits_for;
  return sums.memory > sums.compute ? "memory" : "compute";
}

// Every row that a cut may hide, the most expensive first where there is a cut: groups have that
// order already.
std::vector<ReportRow> InOrder(const Report& report, GroupBy by, std::size_t top) {
  std::vector<ReportRow> rows = RowsOf(report, by);
  if (top != 0 && IsDetail(by)) {
    const bool timed = report.device.has_value();
    std::stable_sort(rows.begin(), rows.end(), [&](const ReportRow& a, const ReportRow& b) {
      return CostsMore(*a.sums, *b.sums, timed);
    });
  }
  return rows;
}

bool IsFree(const ReportRow& row) {
  return row.sums->flops == Flops() && row.sums->bytes() == Bytes() &&
         row.doubt.unknown + row.doubt.bounded == 0;
}

}  // namespace

const char* HeadOfNames(GroupBy by) {
  if (by == GroupBy::kScope) return "module";
  if (by == GroupBy::kPhase) return "phase";
  if (by == GroupBy::kStory) return "story";
  if (by == GroupBy::kLayer) return "layer";
  return by == GroupBy::kOp ? "operator" : "node";
}

std::vector<ReportRow> RowsOf(const Report& report, GroupBy by) {
  std::vector<ReportRow> rows;
  switch (by) {
    case GroupBy::kOp:
    case GroupBy::kScope:
    case GroupBy::kPhase:
      for (const GroupRow& group : GroupsBy(report, by)) {
        rows.push_back({group.name, "", LimiterOf(group.LimitedBy(), group.sums), &group.sums,
                        group.kernel_flops, group.doubt, rows.size()});
      }
      break;
    case GroupBy::kStory:
      for (const Story& story : StoriesOf(report)) {
        const auto own = std::make_shared<const GroupRow>(story.row);
        const std::string times = story.kernels > 1 ? fmt::format("  x {}", story.kernels) : "";
        rows.push_back({own->name + times, story.operators, LimiterOf(own->LimitedBy(), own->sums),
                        &own->sums, own->kernel_flops, own->doubt, rows.size(), own});
      }
      break;
    case GroupBy::kLayer:
      for (const Layer& layer : LayersOf(report, report.options.scope_depth)) {
        const auto own = std::make_shared<const GroupRow>(layer.row);
        const std::string times = layer.times > 1 ? fmt::format("  x {}", layer.times) : "";
        rows.push_back({std::string(2 * layer.depth, ' ') + layer.name + times, layer.story,
                        LimiterOf(own->LimitedBy(), own->sums), &own->sums, own->kernel_flops,
                        own->doubt, rows.size(), own});
      }
      break;
    case GroupBy::kNode: {
      std::vector<std::string> waits_for(report.nodes.size());
      for (const KernelRow& kernel : report.kernels) waits_for[kernel.main] = kernel.waits_for;
      for (std::size_t n = 0; n < report.nodes.size(); ++n) {
        const NodeRow& node = report.nodes[n];
        rows.push_back({node.name, node.op, LimiterOf(waits_for[n], node.sums), &node.sums,
                        node.sums.flops, node.doubt(), n});
      }
      break;
    }
    case GroupBy::kKernel:
      for (std::size_t k = 0; k < report.kernels.size(); ++k) {
        const KernelRow& kernel = report.kernels[k];
        if (kernel.launches == Count(0)) continue;
        // "attention (flash 128x64)"; the label alone where it says as much.
        std::string what = kernel.label;
        if (kernel.execution != nullptr) what += " (" + kernel.algorithm + ")";
        rows.push_back({report.nodes[kernel.main].name, what, kernel.LimitedBy(), &kernel.sums,
                        kernel.sums.flops, kernel.doubt, k});
      }
      break;
  }
  return rows;
}

std::vector<ReportRow> TopRows(const Report& report, GroupBy by, std::size_t top) {
  std::vector<ReportRow> rows = InOrder(report, by, top);
  if (top != 0 && top < rows.size()) rows.resize(top);
  return rows;
}

ShownRows RowsShown(const Report& report, GroupBy by, std::size_t top) {
  ShownRows shown;
  std::vector<ReportRow> rows = InOrder(report, by, top);
  if (by != GroupBy::kLayer) {
    const auto known = std::stable_partition(
        rows.begin(), rows.end(), [](const ReportRow& row) { return row.doubt.unknown > 0; });
    shown.unknown = static_cast<std::size_t>(known - rows.begin());
  }
  for (ReportRow& row : rows) {
    if (!IsDetail(by) && IsFree(row)) {
      shown.free_nodes += row.sums->nodes;
    } else if (top == 0 || shown.rows.size() < top + shown.unknown) {
      shown.rows.push_back(std::move(row));
    } else {
      ++shown.hidden;
      Accumulate(shown.hidden_sums, *row.sums);
      Accumulate(shown.hidden_doubt, row.doubt);
      shown.hidden_kernel_flops += row.kernel_flops;
    }
  }
  return shown;
}

}  // namespace dlcost
