#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/compare/compare.h"
#include "estimator/compare/slice_table.h"
#include "estimator/report/fields/report.h"

// Every field of a comparison's JSON, in the order in which it is written
// (report/fields/vocabulary.h). What a field means: docs/schema/fields.txt.

namespace dlcost {

void Fields(auto& v, fields::IsA<Clue> auto& clue) {
  v.Field("bits", clue.bits);
  v.Field("clue", clue.text);
}

void Fields(auto& v, fields::IsA<FileBelief> auto& file) {
  v.Field("file", file.file);
  v.Field("bits", fields::Told{file.belief.bits()});
  v.Field("is_model", fields::Told{file.belief.holds()});
  v.Field("clues", file.belief.clues);
}

// The kernels behind a row, and where in the file they stand.
void Fields(auto& v, fields::IsA<MeasuredPart> auto& part) {
  v.Field("name", part.name);
  v.Field("family", fields::Told{Name(part.told.family)});
  v.Field("launches", fields::Number(part.launches));
  v.Field("measured_flops", fields::Number(part.vector_flops));
  v.Field("measured_bytes", fields::Number(part.dram_bytes));
  v.Field("measured_s", part.time);
  v.Field("occupancy", fields::Told{part.occupancy.Value()});
  v.Field("lines", part.lines);
}

void Fields(auto& v, fields::IsA<StageRow> auto& stage) {
  v.Field("stage", stage.stage);
  v.Field("executed_flops", stage.executed);
  v.Field("launches", fields::Number(stage.launches));
  v.Field("measured_flops", fields::Number(stage.measured_flops));
  v.Field("ratio", stage.ratio);
  v.Field("measured_s", stage.time);
  v.Field("kernels", stage.kernels);
}

void Fields(auto& v, fields::IsA<CompareRow> auto& row) {
  v.Field("node", row.node);
  v.Field("op", row.op);
  v.Field("kernel", row.kernel);
  v.Field("nodes", row.nodes);
  v.Field("launches", fields::Number(row.measured.launches));
  v.Field("algorithmic_flops", row.algorithmic);
  v.Field("executed_flops", row.executed);
  v.Field("measured_flops", fields::Number(row.measured_flops));
  v.Field("flops_ratio", row.flops_ratio);
  v.Field("executed_ratio", row.executed_ratio);
  v.Field("predicted_bytes", row.predicted_bytes);
  v.Field("measured_bytes", fields::Number(row.measured.dram_bytes));
  v.Field("bytes_ratio", row.bytes_ratio);
  v.Field("bound_s", row.bound);
  v.Field("expected_s", row.expected);
  v.Field("measured_s", row.measured.time);
  v.Field("time_ratio", row.time_ratio);
  v.Field("compute_fraction", row.compute_fraction);
  v.Field("memory_fraction", row.memory_fraction);
  v.Field("tensor_instructions", fields::Number(row.measured.tensor_instructions));
  v.Field("occupancy", fields::Told{row.measured.occupancy.Value()});
  v.Field("measured_kernels", row.measured.names);
  v.Field("parts", row.measured.parts);
  v.Field("stages", row.stages);
  v.Field("beside", row.beside);
  v.Field("joined_by", row.measured.joined_by);
  v.Field("confidence", row.measured.confidence);
  v.Field("why", row.why);
}

void Fields(auto& v, fields::IsA<CompareTotals> auto& totals) {
  v.Field("algorithmic_flops", totals.algorithmic);
  v.Field("executed_flops", totals.executed);
  v.Field("joined_algorithmic_flops", totals.joined_algorithmic);
  v.Field("measured_flops", fields::Number(totals.measured_flops));
  v.Field("unmatched_flops", fields::Number(totals.unmatched_flops));
  v.Field("predicted_bytes", totals.predicted_bytes);
  v.Field("measured_bytes", fields::Number(totals.measured_bytes));
  v.Field("bound_s", totals.bound);
  v.Field("expected_s", totals.expected);
  v.Field("expected_run_s", totals.expected_run);
  v.Field("measured_s", totals.measured);
  v.Field("unmatched_s", totals.unmatched);
  v.Field("idle_s", totals.idle);
  v.Field("runs", totals.runs);
  v.Field("runs_from", totals.runs_from);
}

void Fields(auto& v, fields::IsA<LevelRow::Deeper> auto& file) {
  v.Field("file", file.file);
  v.Field("down_to", fields::Told{Name(file.finest)});
  v.Field("measured_s", file.time);
  v.Field("overhead_s", file.overhead);
}

void Fields(auto& v, fields::IsA<LevelRow> auto& level) {
  v.Field("level", fields::Told{Name(level.level)});
  v.Field("file", level.file);
  v.Field("measured_s", level.time);
  v.Field("deeper", level.deeper);
}

void Fields(auto& v, fields::IsA<RangeTime> auto& range) {
  v.Field("range", range.name);
  v.Field("per_run", fields::Number(range.per_run));
  v.Field("measured_s", range.time);
  v.Field("device_s", range.device);
}

void Fields(auto& v, fields::IsA<RunTime> auto& run) {
  v.Field("from", run.from);
  v.Field("wall_s", run.wall);
  v.Field("device_s", run.device);
  v.Field("outside_s",
          fields::Told{run.device ? std::optional(run.wall - *run.device) : std::nullopt});
  v.Field("beside", run.beside);
}

void Fields(auto& v, fields::IsA<Throughput> auto& throughput) {
  std::optional<double> samples;
  if (throughput.batch) {
    samples = throughput.runs_per_s * static_cast<double>(*throughput.batch);
  }
  v.Field("runs_per_s", throughput.runs_per_s);
  v.Field("batch", throughput.batch);
  v.Field("samples_per_s", fields::Told{samples});
  v.Field("at_most", throughput.at_most);
}

void Fields(auto& v, fields::IsA<RatioStatistics> auto& statistics) {
  v.Field("rows", fields::Told{static_cast<std::int64_t>(statistics.rows)});
  v.Field("median", statistics.median);
  v.Field("p90", statistics.p90);
  v.Field("correlation", statistics.correlation);
}

void Fields(auto& v, fields::IsA<UnmatchedKernel> auto& kernel) {
  v.Field("name", kernel.name);
  v.Field("launches", fields::Number(kernel.launches));
  v.Field("measured_s", kernel.time);
  v.Field("measured_flops", fields::Number(kernel.vector_flops));
  v.Field("measured_bytes", fields::Number(kernel.dram_bytes));
  v.Field("why", kernel.why);
}

void Fields(auto& v, fields::IsA<UnmatchedNode> auto& node) {
  v.Field("node", node.node);
  v.Field("op", node.op);
  v.Field("kernel", node.kernel);
  v.Field("algorithmic_flops", node.algorithmic);
  v.Field("bound_s", node.bound);
  v.Field("why", node.why);
}

namespace fields {

// Of a view's rows; those by operator tell what is predicted of it, too. Names of fields in
// "at_least" are lower bounds.
struct Slices {
  const SliceView& view;
  const std::vector<OpTotals>& predicted;

  void Each(auto take) const {
    for (const SliceRow& slice : *view.rows) take(slice);
  }
  void Append(auto fill) const {
    SliceRow slice;
    fill(slice);
  }

  void Slice(auto& v, const SliceRow& slice) const {
    const bool by_op = view.name == "op", by_layer = view.name == "layer";
    v.Field(view.name, Told{slice.key});
    if (!by_op) v.Field(by_layer ? "op" : "family", Told{slice.family});
    v.Field(by_op ? "rows" : "operators", Told{static_cast<std::int64_t>(slice.operators)});
    std::vector<std::string_view> at_least;
    for (const SliceField& field : SliceFields()) {
      const PartSum sum = field.of(slice);
      v.Field(field.key, Number(sum.value));
      if (sum.value && !sum.whole) at_least.push_back(field.key);
    }
    v.Field("at_least", Told{at_least});
    if (!by_op) return;
    const auto op = std::ranges::find(predicted, slice.key, &OpTotals::op);
    if (op == predicted.end()) return;
    v.Field("algorithmic_flops", Told{op->algorithmic});
    v.Field("predicted_s", Told{op->predicted});
  }
};

// The nodes of the rows that are furthest off.
inline std::vector<std::string> Worst(const Comparison& comparison) {
  std::vector<std::string> nodes;
  for (const std::size_t row : comparison.worst) {
    if (nodes.size() == Comparison::kWorstTold) break;
    nodes.push_back(comparison.rows[row].node);
  }
  return nodes;
}

}  // namespace fields

void Fields(auto& v, fields::IsA<Comparison> auto& comparison) {
  v.Field("schema", fields::Told{kCompareSchema});
  v.Field("model", comparison.model);
  v.Field("device", fields::Or(comparison.device, ""));
  v.Field("runtime", comparison.runtime);
  v.Field("files", comparison.files);
  v.Field("belief", comparison.beliefs);
  v.Field("rows", comparison.rows);
  v.Field("totals", comparison.totals);
  v.Field("levels", comparison.levels);
  v.Field("run", comparison.run);
  v.Field("copies_s", comparison.copies);
  v.Field("throughput", comparison.throughput);
  v.Field("merges", comparison.merges);
  v.Field("statistics", fields::Object{[&](auto& in) {
            in.Field("flops", comparison.flops);
            in.Field("bytes", comparison.bytes);
            in.Field("time", comparison.time);
            in.Field("worst", fields::Told{fields::Worst(comparison)});
          }});
  v.Field("unmatched_kernels", comparison.unmatched_kernels);
  v.Field("unmatched_nodes", comparison.unmatched_nodes);
  v.Field("notes", comparison.notes);
  for (const SliceView& view : ViewsOf(comparison.analyses)) {
    fields::Slices slices{view, comparison.by_op};
    v.Field(view.key, fields::List(slices, [&](auto& in, const SliceRow& slice) {
              slices.Slice(in, slice);
            }));
  }
}

}  // namespace dlcost
