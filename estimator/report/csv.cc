#include <fmt/ranges.h>

#include "estimator/report/csv_field.h"
#include "estimator/report/layers.h"
#include "estimator/report/render.h"
#include "estimator/report/rows.h"

namespace dlcost {

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

namespace {

std::string SumColumns(const Sums& sums, std::optional<Intensity> intensity, const Doubt& doubt,
                       bool timed) {
  std::string text = fmt::format("{},{},{},{},{}", sums.macs.value(), sums.flops.value(),
                                 sums.bytes_read.value(), sums.bytes_written.value(),
                                 intensity ? fmt::format("{}", intensity->value()) : "");
  if (timed) {
    text +=
        fmt::format(",{},{},{},{}", sums.compute.value(), sums.memory.value(), sums.bound.value(),
                    sums.expected ? fmt::format("{}", sums.expected->value()) : "");
  }
  return text + "," + CsvField(Word(doubt));
}

// Of every row: the table has no other place for it.
std::string RuntimeField(const Report& report) { return CsvField(report.options.runtime); }

std::string SumHead(bool timed) {
  std::string head = "macs,flops,bytes_read,bytes_written,intensity";
  if (timed) head += ",compute_s,memory_s,bound_s,expected_s";
  return head + ",certainty,runtime";
}

std::string HeadOf(GroupBy by) {
  return by == GroupBy::kOp ? "op" : by == GroupBy::kScope ? "scope" : "phase";
}

}  // namespace

std::string RenderCsv(const Report& report, GroupBy by, std::size_t top) {
  const bool timed = report.device.has_value();
  const std::vector<ReportRow> rows = TopRows(report, by, top);
  std::string out;
  switch (by) {
    case GroupBy::kOp:
    case GroupBy::kScope:
    case GroupBy::kPhase:
      out = HeadOf(by) + ",nodes," + SumHead(timed) + "\n";
      for (const ReportRow& row : rows) {
        const GroupRow& group = GroupsBy(report, by)[row.index];
        out += fmt::format("{},{},{},{}\n", CsvField(group.name), group.sums.nodes,
                           SumColumns(group.sums, group.intensity(), group.doubt, timed),
                           RuntimeField(report));
      }
      break;
    case GroupBy::kStory: {
      const std::vector<Story> stories = StoriesOf(report);
      out = "story,operators,kernels," + SumHead(timed) + "\n";
      for (const ReportRow& row : rows) {
        const Story& story = stories[row.index];
        out += fmt::format(
            "{},{},{},{},{}\n", CsvField(story.row.name), CsvField(story.operators), story.kernels,
            SumColumns(story.row.sums, story.row.intensity(), story.row.doubt, timed),
            RuntimeField(report));
      }
      break;
    }
    case GroupBy::kLayer:
      out = "layer,kernel,depth,times," + SumHead(timed) + "\n";
      for (const Layer& layer : LayersOf(report, report.options.scope_depth)) {
        out += fmt::format(
            "{},{},{},{},{},{}\n", CsvField(layer.name), CsvField(layer.story), layer.depth,
            layer.times, SumColumns(layer.row.sums, layer.row.intensity(), layer.row.doubt, timed),
            RuntimeField(report));
      }
      break;
    case GroupBy::kNode:
      out = "node,op,domain,scope,status,kernel," + SumHead(timed) + "\n";
      for (const ReportRow& row : rows) {
        const NodeRow& node = report.nodes[row.index];
        out +=
            fmt::format("{},{},{},{},{},{},{},{}\n", CsvField(node.name), CsvField(node.op),
                        CsvField(node.domain), CsvField(node.scope), Name(node.status), node.kernel,
                        SumColumns(node.sums, node.sums.intensity(), node.doubt(), timed),
                        RuntimeField(report));
      }
      break;
    case GroupBy::kKernel:
      out = "kernel,op,algorithm,limiter,launches,nodes,executed_flops," + SumHead(timed) + "\n";
      for (const ReportRow& row : rows) {
        const KernelRow& kernel = report.kernels[row.index];
        out += fmt::format("{},{},{},{},{},{},{},{},{}\n", kernel.id, CsvField(kernel.op),
                           CsvField(kernel.algorithm), kernel.limiter, kernel.launches,
                           CsvField(fmt::format("{}", fmt::join(kernel.nodes, " "))),
                           kernel.executed.value(),
                           SumColumns(kernel.sums, kernel.sums.intensity(), kernel.doubt, timed),
                           RuntimeField(report));
      }
      break;
  }
  return out;
}

}  // namespace dlcost
