#include <algorithm>
#include <string>

#include "estimator/core/error.h"
#include "estimator/profiles/readers.h"
#include "estimator/profiles/sqlite_database.h"
#include "estimator/profiles/trace_rows.h"

// The SQLite export of Nsight Systems: kernels and copies (CUPTI_ACTIVITY_KIND_*), the runtime
// calls that launched them, and NVTX ranges. Names are numbers that StringIds resolves.
namespace dlcost {
namespace {

constexpr int kPushPopRange = 59, kStartEndRange = 60;  // ENUM_NSYS_EVENT_TYPE

class SqliteReader {
 public:
  SqliteReader(SqliteDatabase& database, const Input& input, Measurement& measurement)
      : database_(database), name_(input.name()), out_(measurement) {}

  void Read() {
    ReadRanges();
    if (!spans_.empty()) ReadCalls();  // they only lead from kernels to ranges
    first_kernel_ = spans_.size();
    ReadKernels();
    ReadCopies("CUPTI_ACTIVITY_KIND_MEMCPY", "[CUDA memcpy]");
    ReadCopies("CUPTI_ACTIVITY_KIND_MEMSET", "[CUDA memset]");
    FindParents(spans_);
    ranges_.resize(spans_.size());
    out_.Expect(spans_.size() - first_kernel_);
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      if (spans_[i].level == kKernelLevel) Emit(i);
    }
    for (const Span& span : spans_) {
      if (span.level == kLayerLevel && span.parent < 0)
        out_.ranges.push_back({names_.Name(span.name), span.start, span.end});
    }
    std::stable_sort(
        out_.kernels.begin(), out_.kernels.end(),
        [](const MeasuredKernel& a, const MeasuredKernel& b) { return a.start < b.start; });
  }

 private:
  // Spans with (start, end, name, track, correlation) in the first columns of `sql`.
  void AddSpans(const std::string& sql, int level, bool asynchronous) {
    database_.ForEach(sql, [&](sqlite3_stmt* row) {
      Span span;
      span.start = sqlite3_column_int64(row, 0);
      span.end = sqlite3_column_int64(row, 1);
      if (span.end < span.start || span.start < 0) {
        throw Error("{}: an event ends before it begins ({} to {} ns)", name_, span.start,
                    span.end);
      }
      span.name = names_.Id(SqliteText(row, 2));
      span.track = names_.Id(SqliteText(row, 3));
      span.correlation = sqlite3_column_int64(row, 4);
      span.level = static_cast<std::int16_t>(level);
      span.asynchronous = asynchronous;
      spans_.push_back(span);
    });
  }

  void ReadRanges() {
    if (!database_.Has("NVTX_EVENTS", "start")) return;
    // The text is either in the row or, for registered strings, in StringIds.
    const std::string text =
        database_.Has("NVTX_EVENTS", "textId") ? "COALESCE(n.text, s.value)" : "n.text";
    const std::string join =
        database_.Has("NVTX_EVENTS", "textId") ? " LEFT JOIN StringIds s ON s.id = n.textId" : "";
    AddSpans(fmt::format("SELECT n.start, n.end, {}, 't' || n.globalTid, 0 FROM NVTX_EVENTS n{} "
                         "WHERE n.end IS NOT NULL AND n.eventType IN ({}, {})",
                         text, join, kPushPopRange, kStartEndRange),
             kLayerLevel, false);
  }

  void ReadCalls() {
    if (!database_.Has("CUPTI_ACTIVITY_KIND_RUNTIME", "correlationId")) return;
    AddSpans(
        "SELECT r.start, r.end, s.value, 't' || r.globalTid, r.correlationId "
        "FROM CUPTI_ACTIVITY_KIND_RUNTIME r LEFT JOIN StringIds s ON s.id = r.nameId",
        kRuntimeLevel, false);
  }

  void ReadKernels() {
    if (!database_.Has("CUPTI_ACTIVITY_KIND_KERNEL", "correlationId")) return;
    AddSpans(
        "SELECT k.start, k.end, s.value, 'd' || k.deviceId || ' stream ' || k.streamId, "
        "k.correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL k LEFT JOIN StringIds s ON s.id = "
        "k.demangledName",
        kKernelLevel, true);
    database_.ForEach(
        "SELECT gridX, gridY, gridZ, blockX, blockY, blockZ FROM CUPTI_ACTIVITY_KIND_KERNEL",
        [&](sqlite3_stmt* row) {
          std::array<std::int32_t, 6> size{};
          for (int i = 0; i < 6; ++i)
            size[static_cast<std::size_t>(i)] = sqlite3_column_int(row, i);
          sizes_.push_back(size);
        });
  }

  void ReadCopies(const std::string& table, const std::string& name) {
    if (!database_.Has(table, "correlationId")) return;
    AddSpans(fmt::format("SELECT start, end, '{}', 'd' || deviceId || ' stream ' || streamId, "
                         "correlationId FROM {}",
                         name, table),
             kKernelLevel, true);
  }

  void Emit(std::size_t index) {
    const Span& span = spans_[index];
    MeasuredKernel kernel;
    kernel.name = names_.Name(span.name);
    kernel.stream = names_.Name(span.track);
    if (kernel.name.starts_with("[CUDA mem")) kernel.kind = MeasuredKind::kCopy;
    kernel.SetTimes(span.start, span.end);
    kernel.correlation = span.correlation;
    kernel.line = static_cast<std::int64_t>(index) + 1;
    TellRanges(spans_, index, names_, ranges_, kernel);
    if (index >= first_kernel_ && index - first_kernel_ < sizes_.size()) {
      const auto& size = sizes_[index - first_kernel_];
      kernel.grid = {size[0], size[1], size[2]};
      kernel.block = {size[3], size[4], size[5]};
    }
    out_.Add(std::move(kernel));
  }

  SqliteDatabase& database_;
  std::string name_;
  Measurement& out_;
  NamePool names_;
  Spans spans_;
  std::vector<bool> ranges_;                        // spans whose time a kernel tells as its host's
  std::vector<std::array<std::int32_t, 6>> sizes_;  // of the kernels, in order
  std::size_t first_kernel_ = 0;
};

}  // namespace

bool IsSqlite(std::string_view head) {
  return head.starts_with(std::string_view("SQLite format 3\0", 16));
}

void ReadNsysSqlite(Input& input, Measurement& measurement) {
  SqliteDatabase database(input);
  if (database.Has("StringTable", "_id_")) {  // the name was beyond the head that IsNvvp looks at
    measurement.format = "nvvp";
    return ReadNvvp(input, measurement);
  }
  SqliteReader(database, input, measurement).Read();
}

}  // namespace dlcost
