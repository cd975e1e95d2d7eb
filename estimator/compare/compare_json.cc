#include <cmath>
#include <nlohmann/json.hpp>

#include "estimator/compare/compare.h"
#include "estimator/compare/slice_table.h"
#include "estimator/core/integer.h"

namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

// Counts are integers where they are whole; means over launches may not be.
Json Number(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15) return Truncate(value);
  return value;
}
Json Number(const std::optional<double>& value) { return value ? Number(*value) : Json(); }
Json Real(const std::optional<double>& value) { return value ? Json(*value) : Json(); }
Json Time(const std::optional<Seconds>& time) { return time ? Json(time->value()) : Json(); }

Json StagesJson(const CompareRow& row) {
  Json stages = Json::array();
  for (const StageRow& stage : row.stages) {
    stages.push_back({{"stage", stage.stage},
                      {"executed_flops", stage.executed ? Json(stage.executed->value()) : Json()},
                      {"launches", Number(stage.launches)},
                      {"measured_flops", Number(stage.measured_flops)},
                      {"ratio", Real(stage.ratio)},
                      {"measured_s", Time(stage.time)},
                      {"kernels", stage.kernels}});
  }
  return stages;
}

// The kernels behind a row, and where in the file they stand.
Json PartsJson(const Measured& measured) {
  Json parts = Json::array();
  for (const MeasuredPart& part : measured.parts) {
    parts.push_back({{"name", part.name},
                     {"family", std::string(Name(part.told.family))},
                     {"launches", Number(part.launches)},
                     {"measured_flops", Number(part.vector_flops)},
                     {"measured_bytes", Number(part.dram_bytes)},
                     {"measured_s", Time(part.time)},
                     {"occupancy", Real(part.occupancy.Value())},
                     {"lines", part.lines}});
  }
  return parts;
}

Json RowJson(const CompareRow& row) {
  return {{"node", row.node},
          {"op", row.op},
          {"kernel", row.kernel},
          {"nodes", row.nodes},
          {"launches", Number(row.measured.launches)},
          {"algorithmic_flops", row.algorithmic.value()},
          {"executed_flops", row.executed.value()},
          {"measured_flops", Number(row.measured_flops)},
          {"flops_ratio", Real(row.flops_ratio)},
          {"executed_ratio", Real(row.executed_ratio)},
          {"predicted_bytes", row.predicted_bytes.value()},
          {"measured_bytes", Number(row.measured.dram_bytes)},
          {"bytes_ratio", Real(row.bytes_ratio)},
          {"bound_s", Time(row.bound)},
          {"expected_s", Time(row.expected)},
          {"measured_s", Time(row.measured.time)},
          {"time_ratio", Real(row.time_ratio)},
          {"compute_fraction", Real(row.compute_fraction)},
          {"memory_fraction", Real(row.memory_fraction)},
          {"tensor_instructions", Number(row.measured.tensor_instructions)},
          {"occupancy", Real(row.measured.occupancy.Value())},
          {"measured_kernels", row.measured.names},
          {"parts", PartsJson(row.measured)},
          {"stages", StagesJson(row)},
          {"beside", row.beside},
          {"joined_by", row.measured.joined_by},
          {"confidence", row.measured.confidence},
          {"why", row.why}};
}

// One view; names of fields in "at_least" are lower bounds.
Json SlicesJson(const SliceView& view) {
  Json json = Json::array();
  for (const SliceRow& slice : *view.rows) {
    Json row = {{view.name, slice.key}};
    if (view.name == "layer") {
      row["op"] = slice.family;
    } else if (view.name != "op") {
      row["family"] = slice.family;
    }
    row[view.name == "op" ? "rows" : "operators"] = slice.operators;
    Json at_least = Json::array();
    for (const SliceField& field : SliceFields()) {
      const PartSum sum = field.of(slice);
      row[std::string(field.key)] = Number(sum.value);
      if (sum.value && !sum.whole) at_least.push_back(field.key);
    }
    row["at_least"] = std::move(at_least);
    json.push_back(std::move(row));
  }
  return json;
}

// What is predicted of each type of operator, beside what was measured of it.
void AddPredicted(const Comparison& comparison, Json& by_op) {
  for (Json& row : by_op) {
    for (const OpTotals& op : comparison.by_op) {
      if (op.op != row["op"].get_ref<const std::string&>()) continue;
      row["algorithmic_flops"] = op.algorithmic.value();
      row["predicted_s"] = Time(op.predicted);
    }
  }
}

Json LevelsJson(const std::vector<LevelRow>& levels) {
  Json json = Json::array();
  for (const LevelRow& level : levels) {
    Json deeper = Json::array();
    for (const LevelRow::Deeper& file : level.deeper) {
      deeper.push_back({{"file", file.file},
                        {"down_to", Name(file.finest)},
                        {"measured_s", file.time.value()},
                        {"overhead_s", file.overhead.value()}});
    }
    json.push_back({{"level", Name(level.level)},
                    {"file", level.file},
                    {"measured_s", level.time.value()},
                    {"deeper", deeper}});
  }
  return json;
}

Json RunJson(const std::optional<RunTime>& run) {
  if (!run) return {};
  Json beside = Json::array();
  for (const RangeTime& range : run->beside) {
    beside.push_back({{"range", range.name},
                      {"per_run", Number(range.per_run)},
                      {"measured_s", range.time.value()},
                      {"device_s", Time(range.device)}});
  }
  const auto outside = run->device ? std::optional(run->wall - *run->device) : std::nullopt;
  return {{"from", run->from},
          {"wall_s", run->wall.value()},
          {"device_s", Time(run->device)},
          {"outside_s", Time(outside)},
          {"beside", beside}};
}

Json ThroughputJson(const std::optional<Throughput>& throughput) {
  if (!throughput) return {};
  const auto& batch = throughput->batch;
  Json samples;
  if (batch) samples = throughput->runs_per_s * static_cast<double>(*batch);
  return {{"runs_per_s", throughput->runs_per_s},
          {"batch", batch ? Json(*batch) : Json()},
          {"samples_per_s", samples},
          {"at_most", throughput->at_most}};
}

Json MergesJson(const std::vector<Merge>& merges) {
  Json json = Json::array();
  for (const Merge& merge : merges) {
    json.push_back({{"nodes", merge.nodes},
                    {"operand", merge.operand},
                    {"batch", merge.batch.value()},
                    {"m", merge.m.value()},
                    {"n", merge.n.value()},
                    {"k", merge.k.value()},
                    {"apart_s", merge.apart.value()},
                    {"merged_s", merge.merged.value()}});
  }
  return json;
}

Json StatisticsJson(const std::optional<RatioStatistics>& statistics) {
  if (!statistics) return {};
  return {{"rows", statistics->rows},
          {"median", statistics->median},
          {"p90", statistics->p90},
          {"correlation", Real(statistics->correlation)}};
}

Json TotalsJson(const CompareTotals& totals) {
  return {{"algorithmic_flops", totals.algorithmic.value()},
          {"executed_flops", totals.executed.value()},
          {"joined_algorithmic_flops", totals.joined_algorithmic.value()},
          {"measured_flops", Number(totals.measured_flops)},
          {"unmatched_flops", Number(totals.unmatched_flops)},
          {"predicted_bytes", totals.predicted_bytes.value()},
          {"measured_bytes", Number(totals.measured_bytes)},
          {"bound_s", Time(totals.bound)},
          {"expected_s", Time(totals.expected)},
          {"measured_s", Time(totals.measured)},
          {"unmatched_s", Time(totals.unmatched)},
          {"idle_s", Time(totals.idle)},
          {"runs", totals.runs},
          {"runs_from", totals.runs_from}};
}

}  // namespace

std::string RenderCompareJson(const Comparison& comparison) {
  Json rows = Json::array(), kernels = Json::array(), nodes = Json::array();
  for (const CompareRow& row : comparison.rows) rows.push_back(RowJson(row));
  for (const UnmatchedKernel& kernel : comparison.unmatched_kernels) {
    kernels.push_back({{"name", kernel.name},
                       {"launches", Number(kernel.launches)},
                       {"measured_s", Time(kernel.time)},
                       {"measured_flops", Number(kernel.vector_flops)},
                       {"measured_bytes", Number(kernel.dram_bytes)},
                       {"why", kernel.why}});
  }
  for (const UnmatchedNode& node : comparison.unmatched_nodes) {
    nodes.push_back({{"node", node.node},
                     {"op", node.op},
                     {"kernel", node.kernel},
                     {"algorithmic_flops", node.algorithmic.value()},
                     {"bound_s", Time(node.bound)},
                     {"why", node.why}});
  }
  Json worst = Json::array();
  for (std::size_t i = 0; i < comparison.worst.size() && i < Comparison::kWorstTold; ++i)
    worst.push_back(comparison.rows[comparison.worst[i]].node);
  Json beliefs = Json::array();
  for (const FileBelief& file : comparison.beliefs) {
    Json clues = Json::array();
    for (const Clue& clue : file.belief.clues)
      clues.push_back({{"bits", clue.bits}, {"clue", clue.text}});
    beliefs.push_back({{"file", file.file},
                       {"bits", file.belief.bits()},
                       {"is_model", file.belief.holds()},
                       {"clues", clues}});
  }
  Json json = {{"schema", std::string(kCompareSchema)},
               {"model", comparison.model},
               {"device", comparison.device.empty() ? Json() : Json(comparison.device)},
               {"runtime", comparison.runtime},
               {"files", comparison.files},
               {"belief", beliefs},
               {"rows", rows},
               {"totals", TotalsJson(comparison.totals)},
               {"levels", LevelsJson(comparison.levels)},
               {"run", RunJson(comparison.run)},
               {"copies_s", Time(comparison.copies)},
               {"throughput", ThroughputJson(comparison.throughput)},
               {"merges", MergesJson(comparison.merges)},
               {"statistics",
                {{"flops", StatisticsJson(comparison.flops)},
                 {"bytes", StatisticsJson(comparison.bytes)},
                 {"time", StatisticsJson(comparison.time)},
                 {"worst", worst}}},
               {"unmatched_kernels", kernels},
               {"unmatched_nodes", nodes},
               {"notes", comparison.notes}};
  for (const SliceView& view : ViewsOf(comparison.analyses))
    json[std::string(view.key)] = SlicesJson(view);
  AddPredicted(comparison, json["by_op"]);
  // Names come from files: bytes that are no UTF-8 are replaced rather than thrown over.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dlcost
