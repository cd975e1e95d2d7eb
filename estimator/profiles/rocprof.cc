#include <algorithm>
#include <array>
#include <string>

#include "estimator/core/error.h"
#include "estimator/profiles/columns.h"
#include "estimator/profiles/readers.h"
#include "estimator/profiles/text.h"

// rocprof (results.csv, stats.csv), rocprofv2 and rocprofv3 (kernel_trace, kernel_stats and
// counter_collection CSV).
namespace dlcost {
namespace {

constexpr double kNanosecond = 1e-9;

std::string KernelNameOf(const Columns& columns, const CsvRow& row) {
  std::string name = columns.Text(row, {"kernel_name", "kernelname", "name"});
  if (name.ends_with(".kd")) name.resize(name.size() - 3);  // the kernel descriptor's suffix
  return name;
}

// A statistics table: one row per kernel name.
MeasuredKernel ReadStatistics(const CsvReader& csv, const Columns& columns, const CsvRow& row) {
  MeasuredKernel kernel;
  const auto calls = ParseInteger(columns.Text(row, {"calls"}));
  if (!calls || *calls <= 0) throw Error("{}: 'Calls' is not a positive number", csv.Where(row));
  kernel.launches = *calls;
  kernel.duration = Seconds(RequiredNumber(csv, columns, row, {"totaldurationns"}) * kNanosecond /
                            static_cast<double>(*calls));
  return kernel;
}

// Columns that are no counters, in all versions.
bool IsRocprofFact(std::string_view column) {
  static constexpr std::array<std::string_view, 60> kFacts = {"index",
                                                              "kernelname",
                                                              "kernel_name",
                                                              "name",
                                                              "gpu-id",
                                                              "gpu_id",
                                                              "queue-id",
                                                              "queue_id",
                                                              "queue-index",
                                                              "queue_index",
                                                              "pid",
                                                              "tid",
                                                              "grd",
                                                              "wgr",
                                                              "lds",
                                                              "scr",
                                                              "arch_vgpr",
                                                              "accum_vgpr",
                                                              "vgpr",
                                                              "sgpr",
                                                              "wave_size",
                                                              "sig",
                                                              "obj",
                                                              "fbar",
                                                              "dispatchns",
                                                              "beginns",
                                                              "endns",
                                                              "completens",
                                                              "durationns",
                                                              "totaldurationns",
                                                              "averagens",
                                                              "percentage",
                                                              "calls",
                                                              "minns",
                                                              "maxns",
                                                              "stddev",
                                                              "kind",
                                                              "agent_id",
                                                              "process_id",
                                                              "thread_id",
                                                              "stream_id",
                                                              "kernel_id",
                                                              "dispatch_id",
                                                              "correlation_id",
                                                              "start_timestamp",
                                                              "end_timestamp",
                                                              "lds_block_size",
                                                              "scratch_size",
                                                              "vgpr_count",
                                                              "accum_vgpr_count",
                                                              "sgpr_count",
                                                              "private_segment_size",
                                                              "group_segment_size",
                                                              "workgroup_size",
                                                              "grid_size",
                                                              "grid_size_x",
                                                              "counter_name",
                                                              "counter_value",
                                                              "average",
                                                              "operation"};
  return std::find(kFacts.begin(), kFacts.end(), column) != kFacts.end() ||
         column.starts_with("workgroup_size_") || column.starts_with("grid_size_");
}

MeasuredKernel ReadDispatch(const CsvReader& csv, const Columns& columns, const CsvRow& row) {
  MeasuredKernel kernel;
  kernel.device = columns.Text(row, {"gpu-id", "agent_id", "gpu_id"});
  kernel.stream = columns.Text(row, {"queue-id", "queue_id"});
  kernel.process = ParseInteger(columns.Text(row, {"process_id", "pid"}));
  kernel.correlation = ParseInteger(columns.Text(row, {"correlation_id"}));
  if (columns.Has({"beginns", "start_timestamp"})) {
    // Nanoseconds since boot pass 2^53 on no machine, so a double holds them.
    const double begin = RequiredNumber(csv, columns, row, {"beginns", "start_timestamp"});
    const double end = RequiredNumber(csv, columns, row, {"endns", "end_timestamp"});
    if (end < begin) throw Error("{}: the kernel ends before it begins", csv.Where(row));
    kernel.start = Seconds(begin * kNanosecond);
    kernel.duration = Seconds((end - begin) * kNanosecond);
  } else if (const auto duration = columns.Number(row, {"durationns"})) {
    kernel.duration = Seconds(*duration * kNanosecond);
  }
  const auto size = [&](std::string_view column) {
    return ParseInteger(columns.Text(row, {column}));
  };
  const auto grid = columns.Has({"grid_size"}) ? size("grid_size") : size("grd");
  if (grid) kernel.grid = {*grid, 1, 1};
  if (const auto x = size("grid_size_x")) {
    kernel.grid = {*x, size("grid_size_y").value_or(1), size("grid_size_z").value_or(1)};
  }
  return kernel;
}

}  // namespace

bool IsRocprof(std::string_view head) {
  return HasLineWith(head, {"KernelName", "queue-id"}) ||
         HasLineWith(head, {"TotalDurationNs", "Calls"}) ||
         HasLineWith(head, {"Kernel_Name", "Dispatch_I"}) ||
         HasLineWith(head, {"Kernel_Name", "Start_Timestamp"}) ||
         HasLineWith(head, {"KernelName", "BeginNs"}) ||
         HasLineWith(head, {"Kernel_Name", "GPU_ID"});
}

void ReadRocprof(Input& input, Measurement& measurement) {
  CsvReader csv(input);
  CsvRow row;
  if (!csv.Next(row)) return;
  const Columns columns(row.fields);
  const bool statistics = columns.Has({"totaldurationns"});
  const bool long_format = columns.Has({"counter_name"});  // one row per counter of a dispatch
  MeasuredKernel kernel;  // being collected: the long format has a row per counter
  bool open = false;
  CounterSet counters;
  std::string dispatch;
  const auto finish = [&] {
    if (!open) return;
    kernel.counters = counters.Normalize();
    counters = CounterSet();
    measurement.Add(std::move(kernel));
  };
  while (csv.Next(row)) {
    csv.Expect(row, columns.size());
    const std::string id =
        columns.Text(row, {"process_id"}) + "/" + columns.Text(row, {"dispatch_id"});
    if (!long_format || !open || id != dispatch) {
      finish();
      open = true;
      dispatch = id;
      kernel = statistics ? ReadStatistics(csv, columns, row) : ReadDispatch(csv, columns, row);
      kernel.line = row.line;
      kernel.name = KernelNameOf(columns, row);
    }
    if (long_format) {
      const std::string& counter = columns.Text(row, {"counter_name"});
      AddCounter(counters, measurement, counter,
                 RequiredNumber(csv, columns, row, {"counter_value"}));
      continue;
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (IsRocprofFact(columns.name(i))) continue;
      if (const auto value = columns.NumberAt(row, i)) {
        AddCounter(counters, measurement, columns.written(i), *value);
      }
    }
  }
  finish();
}

}  // namespace dlcost
