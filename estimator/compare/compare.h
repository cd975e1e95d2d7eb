#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "estimator/compare/analyses.h"
#include "estimator/compare/belief.h"
#include "estimator/compare/join.h"
#include "estimator/compare/levels.h"
#include "estimator/compare/stages.h"
#include "estimator/report/report.h"

namespace dlcost {

inline constexpr std::string_view kCompareSchema = "dlcost.compare/1";

// A predicted kernel (or, for tables that cannot tell layers apart, a family of them) beside what
// was measured for it, per run of the model.
struct CompareRow {
  std::string node, op, kernel;    // main node; operator; id of the predicted kernel
  std::vector<std::string> nodes;  // all of them
  std::string planned;             // algorithm: "implicit_gemm"
  // Two FLOPs per multiply-accumulate; of kernels without any, the arithmetic in the convention.
  Flops algorithmic;
  Flops executed;  // what the algorithm issues, padding and epilogue included
  // With the algorithm and tile that the measured kernel's name tells (ExecutionAsRun); null where
  // nothing but data moves. `executed` is its sum; counters of the vector pipe see
  // `executed_vector`.
  std::shared_ptr<const Execution> execution;
  std::optional<Flops> executed_vector;
  bool launched = true;     // false: the plan needs no kernel for it (a view, a constant)
  bool beside = false;      // Joined::Shared::beside: its predicted work stands in other rows
  std::size_t kernels = 1;  // predicted ones that it sums up
  std::vector<std::size_t> covers;  // these, in the report; none where their work stands elsewhere
  std::optional<double> outputs;    // elements that operators without products make
  std::optional<Bytes> cache;       // of the device: what may stay on the chip between kernels
  // Weights that no layer before read, what its kernels write, and the algorithm's workspace: what
  // the layer holds if nothing is reused. Nothing where the prediction stands in other rows.
  std::optional<Bytes> memory_bytes;
  Bytes predicted_bytes;
  TraceLevel time_level = TraceLevel::kKernel;  // that `expected` and `measured.time` are of
  std::optional<Seconds> bound, expected;
  std::optional<Seconds> compute, memory;  // bounds of the units and of the memory, apart
  Measured measured;
  std::optional<double> measured_flops;  // vector and, where counted, matrix pipe
  std::optional<double> flops_ratio;     // measured / algorithmic
  std::optional<double> executed_ratio;  // measured / executed
  std::optional<double> bytes_ratio;     // measured / predicted
  std::optional<double> time_ratio;  // measured / expected, or / bound where nothing is expected
  // Measured at the levels above the kernels, with the least overhead: of the framework's operator,
  // of the library's primitive. Nothing where `measured.time` is of that level itself.
  std::optional<Seconds> layer_time, library_time;
  std::optional<double> compute_fraction;  // of the roof: bound of the units / measured time
  std::optional<double> memory_fraction;
  std::vector<StageRow> stages;  // where several kernels ran stages of one algorithm
  std::string why;  // what explains the difference, or that nothing does; "" when nothing needs to
};

struct UnmatchedNode {
  std::string node, op, kernel, why;
  Flops algorithmic;
  std::optional<Seconds> bound;
};

// Runs per second, and samples where the batch is known.
struct Throughput {
  double runs_per_s = 0;
  std::optional<std::int64_t> batch;
  bool at_most = false;  // by the kernels alone, without what is between them
};

// Over rows that have a value.
struct RatioStatistics {
  std::size_t rows = 0;
  double median = 0, p90 = 0;         // of the ratio
  std::optional<double> correlation;  // of predicted and measured (Pearson); from 3 rows
};

struct OpTotals {
  std::string op;
  std::int64_t rows = 0;
  Flops algorithmic;
  std::optional<double> measured_flops;
  std::optional<Seconds> predicted, measured;  // expected, or bound where nothing is expected
};

struct CompareTotals {
  Flops algorithmic, executed;  // of the whole model
  Flops joined_algorithmic;     // of the rows that were measured
  std::optional<double> measured_flops, unmatched_flops;
  Bytes predicted_bytes;
  std::optional<double> measured_bytes;
  std::optional<Seconds> bound, measured, unmatched, idle;
  // Of the whole model, at the level that was measured; with the host's calls, where others.
  std::optional<Seconds> expected, expected_run;
  std::int64_t runs = 1;
  std::string runs_from;  // how that is known; "" where it is one run
};

// Whether a file is of the model.
struct FileBelief {
  std::string file;
  Belief belief;
};

struct CompareOptions {
  std::optional<std::int64_t> runs;  // how often the model ran in the files; inferred without
};

struct Comparison {
  std::string model, device;
  std::string runtime, runtime_text;  // that the prediction assumes, RuntimeText()
  std::vector<std::string> roofs;     // of the device, that the model touches: "tensor fp16"
  std::vector<std::string> files;     // "nvprof.csv (nvprof)"
  std::vector<CompareRow> rows;       // in execution order; only what was measured
  CompareTotals totals;
  std::vector<OpTotals> by_op;  // largest measured time first
  Analyses analyses;
  std::vector<LevelRow> levels;   // the coarsest first
  std::optional<RunTime> run;     // by the clock on the wall, at the coarsest level
  std::optional<Seconds> copies;  // and fills of memory, in the whole file: set-up, too
  std::optional<Throughput> throughput;
  std::vector<Merge> merges;  // products that would run as one
  std::vector<UnmatchedKernel> unmatched_kernels;
  std::vector<UnmatchedNode> unmatched_nodes;
  std::optional<RatioStatistics> flops, bytes, time;
  // Rows by the time (or FLOPs) that the ratio is off, the worst first; those that have one. The
  // summaries tell the first of them.
  std::vector<std::size_t> worst;
  static constexpr std::size_t kWorstTold = 5;
  std::vector<FileBelief> beliefs;
  std::vector<std::string> notes;
};

// `counters` come from the first measurement that has them; times from the first of `times` (runs
// that collected no counters) that has them, else from the first measurement that has them.
// Files may be of any level (TraceLevel): kernels nest in the operators of other files of the same
// run (NestRows), times are those of the finest level. Throws Error where none has anything finer
// than runs of the model.
Comparison Compare(const Report& report, std::vector<Measurement> measurements,
                   std::vector<Measurement> times, const std::optional<Device>& device,
                   const CompareOptions& options = {});

// Throws Error, with the reasons, for the first file that does not look like the model.
void RequireBelief(const Comparison& comparison);

// The rows whose ratio of FLOPs (of time, where no FLOPs were measured) lies outside [low, high].
std::vector<std::size_t> RowsOutside(const Comparison& comparison, double low, double high);
// The ratio that RowsOutside judges.
std::optional<double> JudgedRatio(const CompareRow& row);

// `by`: views of Analyses to show as tables as well: "layer", "op", "kernel", "algorithm".
struct CompareTextOptions {
  std::size_t top = 0;  // rows of each table; 0: all
  std::vector<std::string> by;
  std::size_t max_width = 0;  // columns, 0: any number
};
std::string RenderCompareText(const Comparison& comparison, const CompareTextOptions& options);
std::string RenderCompareMarkdown(const Comparison& comparison, const CompareTextOptions& options);
// All views, whatever `by` says.
std::string RenderCompareJson(const Comparison& comparison);
std::string RenderCompareCsv(const Comparison& comparison);
// Without a `title`: the model's name.
std::string RenderCompareHtml(const Comparison& comparison, const Device* device,
                              const std::string& title = "");

}  // namespace dlcost
