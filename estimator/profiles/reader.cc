#include "estimator/profiles/reader.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/profiles/readers.h"
#include "estimator/profiles/summary_rows.h"
#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

constexpr Reader kReaders[] = {
    {"nvvp", "nvprof --export-profile, the Visual Profiler's database", IsNvvp, ReadNvvp},
    {"nsys-sqlite", "Nsight Systems: 'nsys export --type sqlite'", IsSqlite, ReadNsysSqlite},
    {"onnxruntime", "ONNX Runtime profile (JSON)", IsOnnxRuntime, ReadOnnxRuntime},
    {"chrome-trace", "PyTorch and TensorFlow traces (chrome JSON)", IsChromeTrace, ReadChromeTrace},
    {"onednn", "oneDNN verbose (dnnl_verbose and onednn_verbose, v0 and v1)", IsOneDnn, ReadOneDnn},
    {"nvprof-text", "nvprof without --csv: the same tables", IsNvprofText, ReadNvprofText, true},
    {"nvprof", "nvprof --csv: summary, GPU trace, API trace, metrics", IsNvprof, ReadNvprof, true},
    {"ncu", "Nsight Compute --csv: details, raw page, long format", IsNcu, ReadNcu, true},
    {"rocprof", "rocprof and rocprofv3 CSV", IsRocprof, ReadRocprof, true},
    {"dlprof", "DLProf CSV reports", IsDlprof, ReadDlprof, true},
    {"vtune", "VTune CSV: hotspots, hw-events", IsVTune, ReadVTune, true},
    {"nsys-stats", "Nsight Systems: 'nsys stats --format csv'", IsNsysStats, ReadNsysStats, true},
    {"csv", "any CSV table with a name column and columns of metrics", IsPlainCsv, ReadPlainCsv,
     true},
};

const Reader& FindReader(const Input& input, const std::string& format) {
  if (!format.empty()) {
    std::vector<std::string> ids;
    for (const Reader& reader : kReaders) {
      if (reader.id == format) return reader;
      ids.emplace_back(reader.id);
    }
    throw Error("unknown profile format '{}'{}; known: {}", Printable(format),
                DidYouMean(format, ids), fmt::join(ids, ", "));
  }
  const std::string_view head = input.Head();
  if (Trim(head).empty()) throw Error("{}: the file is empty", input.name());
  for (const Reader& reader : kReaders) {
    if (reader.recognizes(head)) return reader;
  }
  throw Error(
      "{}: no known profiler wrote this; dlcost reads nvprof, Nsight Compute and Systems, "
      "VTune, ONNX Runtime, PyTorch and TensorFlow traces, oneDNN, rocprof, DLProf, and CSV "
      "tables that begin with a row 'name, metric, ...'",
      input.name());
}

}  // namespace

std::span<const Reader> Readers() { return kReaders; }

Measurement ReadMeasurement(Input input, const ReadOptions& options) {
  const Reader& reader = FindReader(input, options.format);
  Measurement measurement;
  measurement.path = input.path().empty() ? input.name() : input.path();
  measurement.format = reader.id;
  if (options.progress) input.OnProgress(options.progress);
  reader.read(input, measurement);
  if (reader.table) DropSummaryRows(measurement);
  measurement.FinishRanges();
  if (measurement.kernels.empty() && !(options.ranges_alone && !measurement.ranges.empty())) {
    throw Error("{}: read as {}, but there is no measured kernel in it", input.name(), reader.id);
  }
  return measurement;
}

Measurement ReadMeasurementFile(const std::string& path, const ReadOptions& options) {
  return ReadMeasurement(Input::OpenFile(path), options);
}

}  // namespace dlcost
