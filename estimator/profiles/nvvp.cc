#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "estimator/core/error.h"
#include "estimator/profiles/readers.h"
#include "estimator/profiles/sqlite_database.h"
#include "estimator/profiles/text.h"
#include "estimator/profiles/trace_rows.h"

// What nvprof --export-profile writes and the Visual Profiler opens: an SQLite database of CUPTI's
// activity records, one table per kind, whose names are numbers in StringTable. Kernels run in
// order (KERNEL) or concurrently (CONCURRENT_KERNEL); NVTX ranges are pairs of markers of the same
// id, of which only the first has a name. Names of kernels are mangled.
namespace dlcost {
namespace {

class NvvpReader {
 public:
  NvvpReader(SqliteDatabase& database, const Input& input, Measurement& measurement)
      : database_(database), name_(input.name()), out_(measurement) {}

  void Read() {
    ReadStrings();
    ReadMarkers();
    ReadCalls("CUPTI_ACTIVITY_KIND_RUNTIME");
    ReadCalls("CUPTI_ACTIVITY_KIND_DRIVER");
    first_on_device_ = spans_.size();
    ReadKernels("CUPTI_ACTIVITY_KIND_KERNEL");
    ReadKernels("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL");
    ReadCopies("CUPTI_ACTIVITY_KIND_MEMCPY", "[CUDA memcpy]");
    ReadCopies("CUPTI_ACTIVITY_KIND_MEMCPY2", "[CUDA memcpy PtoP]");
    ReadCopies("CUPTI_ACTIVITY_KIND_MEMSET", "[CUDA memset]");
    NoteCounters();
    FindParents(spans_);
    ranges_.resize(spans_.size());
    out_.Expect(spans_.size() - first_on_device_);
    for (std::size_t i = first_on_device_; i < spans_.size(); ++i) Emit(i);
    for (const Span& span : spans_) {
      if (span.level == kLayerLevel && span.parent < 0)
        out_.ranges.push_back({names_.Name(span.name), span.start, span.end});
    }
    std::stable_sort(
        out_.kernels.begin(), out_.kernels.end(),
        [](const MeasuredKernel& a, const MeasuredKernel& b) { return a.start < b.start; });
    if (unfinished_ > 0) {
      out_.notes.push_back(fmt::format("{} record{} without an end left out", unfinished_,
                                       unfinished_ == 1 ? "" : "s"));
    }
  }

 private:
  struct Shape {  // of a launch; zeros where not told
    std::array<std::int64_t, 6> size{};
    std::int64_t device = 0, stream = 0;
  };

  // False for a record that never ended: its end is 0.
  bool SetTimes(Span& span, std::int64_t start, std::int64_t end) {
    if (end == 0) {
      ++unfinished_;
      return false;
    }
    if (end < start || start < 0) {
      throw Error("{}: an event ends before it begins ({} to {} ns)", name_, start, end);
    }
    span.start = start;
    span.end = end;
    return true;
  }

  std::uint32_t Thread(std::int64_t id) {
    return names_.Id(fmt::format("t{}", static_cast<std::uint32_t>(id)));
  }

  // objectId of a marker is two 32-bit numbers, process and thread.
  std::uint32_t MarkerThread(sqlite3_stmt* row, int column) {
    const auto* bytes = static_cast<const unsigned char*>(sqlite3_column_blob(row, column));
    if (bytes == nullptr || sqlite3_column_bytes(row, column) < 8) return Thread(0);
    std::uint32_t id = 0;
    for (int i = 7; i >= 4; --i) id = id << 8 | bytes[i];
    return Thread(id);
  }

  // Read once and looked up here: a join would be quadratic where a file's ids repeat.
  void ReadStrings() {
    database_.ForEach("SELECT _id_, value FROM StringTable", [&](sqlite3_stmt* row) {
      strings_[sqlite3_column_int64(row, 0)] = names_.Id(SqliteText(row, 1));
    });
  }

  // The name that a column holds, as a number or as itself.
  std::uint32_t NameAt(sqlite3_stmt* row, int column) {
    if (sqlite3_column_type(row, column) == SQLITE_INTEGER) {
      const auto found = strings_.find(sqlite3_column_int64(row, column));
      if (found != strings_.end()) return found->second;
    }
    return names_.Id(SqliteText(row, column));
  }

  // A marker with a name begins a range, one of the same id without a name ends it.
  void ReadMarkers() {
    if (!database_.Has("CUPTI_ACTIVITY_KIND_MARKER", "timestamp")) return;
    std::unordered_map<std::int64_t, Span> open;
    database_.ForEach(
        "SELECT timestamp, name, id, objectId FROM CUPTI_ACTIVITY_KIND_MARKER ORDER BY timestamp, "
        "rowid",
        [&](sqlite3_stmt* row) {
          const std::int64_t time = sqlite3_column_int64(row, 0);
          const std::int64_t id = sqlite3_column_int64(row, 2);
          if (sqlite3_column_int64(row, 1) != 0) {
            Span span;
            span.start = time;
            span.name = NameAt(row, 1);
            span.track = MarkerThread(row, 3);
            span.level = kLayerLevel;
            open[id] = span;
          } else if (const auto begun = open.find(id); begun != open.end()) {
            if (SetTimes(begun->second, begun->second.start, time)) {
              spans_.push_back(begun->second);
            }
            open.erase(begun);
          }
        });
  }

  void ReadCalls(const std::string& table) {
    if (!database_.Has(table, "correlationId")) return;
    database_.ForEach(
        "SELECT start, end, threadId, correlationId FROM " + table, [&](sqlite3_stmt* row) {
          Span span;
          if (!SetTimes(span, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1))) return;
          span.track = Thread(sqlite3_column_int64(row, 2));
          span.correlation = sqlite3_column_int64(row, 3);
          span.level = kRuntimeLevel;
          spans_.push_back(span);
        });
  }

  void ReadKernels(const std::string& table) {
    if (!database_.Has(table, "correlationId")) return;
    database_.ForEach(
        "SELECT start, end, name, correlationId, deviceId, streamId, gridX, gridY, gridZ, blockX, "
        "blockY, blockZ FROM " +
            table,
        [&](sqlite3_stmt* row) {
          Shape shape;
          for (int i = 0; i < 6; ++i) {
            shape.size[static_cast<std::size_t>(i)] = sqlite3_column_int64(row, 6 + i);
          }
          AddOnDevice(row, NameAt(row, 2), shape);
        });
  }

  void ReadCopies(const std::string& table, const std::string& name) {
    if (!database_.Has(table, "correlationId")) return;
    database_.ForEach("SELECT start, end, 0, correlationId, deviceId, streamId FROM " + table,
                      [&](sqlite3_stmt* row) { AddOnDevice(row, names_.Id(name), Shape()); });
  }

  void AddOnDevice(sqlite3_stmt* row, std::uint32_t name, Shape shape) {
    Span span;
    if (!SetTimes(span, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1))) return;
    shape.device = sqlite3_column_int64(row, 4);
    shape.stream = sqlite3_column_int64(row, 5);
    span.name = name;
    span.track = names_.Id(fmt::format("d{} stream {}", shape.device, shape.stream));
    span.correlation = sqlite3_column_int64(row, 3);
    span.level = kKernelLevel;
    span.asynchronous = true;
    spans_.push_back(span);
    shapes_.push_back(shape);
  }

  // Metrics and events are numbers whose names only the GPU's driver knows.
  void NoteCounters() {
    for (const char* const kind : {"METRIC", "METRIC_INSTANCE", "EVENT", "EVENT_INSTANCE"}) {
      const std::string table = std::string("CUPTI_ACTIVITY_KIND_") + kind;
      if (!database_.Has(table, "id")) continue;
      database_.ForEach("SELECT count(*) FROM " + table, [&](sqlite3_stmt* row) {
        if (sqlite3_column_int64(row, 0) == 0) return;
        out_.notes.push_back(
            "its counters have numbers instead of names; for their values take them with "
            "nvprof --csv --metrics ...");
      });
      if (!out_.notes.empty()) return;
    }
  }

  void Emit(std::size_t index) {
    const Span& span = spans_[index];
    const Shape& shape = shapes_[index - first_on_device_];
    MeasuredKernel kernel;
    kernel.name = names_.Name(span.name);
    kernel.device = std::to_string(shape.device);
    kernel.stream = std::to_string(shape.stream);
    if (kernel.name.starts_with("[CUDA mem")) kernel.kind = MeasuredKind::kCopy;
    kernel.SetTimes(span.start, span.end);
    kernel.correlation = span.correlation;
    kernel.line = static_cast<std::int64_t>(index - first_on_device_) + 1;
    TellRanges(spans_, index, names_, ranges_, kernel);
    if (shape.size[0] > 0) {
      kernel.grid = {shape.size[0], shape.size[1], shape.size[2]};
      kernel.block = {shape.size[3], shape.size[4], shape.size[5]};
    }
    out_.Add(std::move(kernel));
  }

  SqliteDatabase& database_;
  std::string name_;
  Measurement& out_;
  NamePool names_;
  std::unordered_map<std::int64_t, std::uint32_t> strings_;  // StringTable's ids to names_
  Spans spans_;
  std::vector<bool> ranges_;   // spans whose time a kernel tells as its host's
  std::vector<Shape> shapes_;  // of the spans from first_on_device_ on
  std::size_t first_on_device_ = 0;
  std::int64_t unfinished_ = 0;
};

}  // namespace

bool IsNvvp(std::string_view head) { return IsSqlite(head) && Contains(head, "StringTable"); }

void ReadNvvp(Input& input, Measurement& measurement) {
  SqliteDatabase database(input);
  NvvpReader(database, input, measurement).Read();
}

}  // namespace dlcost
