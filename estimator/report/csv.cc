#include <fmt/ranges.h>

#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "estimator/core/utf8.h"
#include "estimator/report/csv_field.h"
#include "estimator/report/fields/sums.h"
#include "estimator/report/layers.h"
#include "estimator/report/render.h"
#include "estimator/report/rows.h"

namespace dlcost {

std::string CsvField(const std::string& text) {
  const std::string field = AsUtf8(text);
  if (field.find_first_of(",\"\n\r") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

namespace {

// A table that is told row by row, each cell with the name of its column: a visitor of fields
// (fields/vocabulary.h). The first row makes the head.
class CsvTable {
 public:
  explicit CsvTable(const Report& report) : report_(report) {}

  bool timed() const { return report_.device.has_value(); }
  template <typename T>
  void Field(std::string_view name, const T& value) {
    if (rows_.empty()) head_ += fmt::format("{}{}", head_.empty() ? "" : ",", name);
    row_ += (row_.empty() ? "" : ",") + Text(value);
  }
  template <typename T>
  void If(bool condition, std::string_view name, const T& value) {
    if (condition) Field(name, value);
  }
  // What every row ends with. The runtime has no other place.
  void EndRow(const Sums& sums, std::optional<Intensity> intensity, const Doubt& doubt) {
    fields::Counts(*this, sums);
    fields::Traffic(*this, sums);
    Field("intensity", intensity);
    fields::Times(*this, sums);
    Field("certainty", Word(doubt));
    Field("runtime", report_.options.runtime);
    rows_ += std::exchange(row_, "") + "\n";
  }
  void EndRow(const GroupRow& group) { EndRow(group.sums, group.intensity(), group.doubt); }

  bool empty() const { return rows_.empty(); }
  std::string Head() const { return head_ + "\n"; }
  std::string Text() const { return Head() + rows_; }

 private:
  static std::string Text(const std::string& text) { return CsvField(text); }
  static std::string Text(std::string_view name) { return std::string(name); }
  template <typename T>
  static std::string Text(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      return fmt::format("{}", value);
    } else {
      return Text(value.value());
    }
  }
  template <typename T>
  static std::string Text(const std::optional<T>& value) {
    return value ? Text(*value) : "";
  }

  const Report& report_;
  std::string head_, rows_, row_;
};

void Tell(CsvTable& csv, const Story& story) {
  csv.Field("story", story.row.name);
  csv.Field("operators", story.operators);
  csv.Field("kernels", story.kernels);
  csv.EndRow(story.row);
}

void Tell(CsvTable& csv, const Layer& layer) {
  csv.Field("layer", layer.name);
  csv.Field("kernel", layer.story);
  csv.Field("depth", layer.depth);
  csv.Field("times", layer.times);
  csv.EndRow(layer.row);
}

void Tell(CsvTable& csv, const NodeRow& node) {
  csv.Field("node", node.name);
  csv.Field("op", node.op);
  csv.Field("domain", node.domain);
  csv.Field("scope", node.scope);
  csv.Field("status", Name(node.status));
  csv.Field("kernel", node.kernel);
  csv.EndRow(node.sums, node.sums.intensity(), node.doubt());
}

void Tell(CsvTable& csv, const KernelRow& kernel) {
  csv.Field("kernel", kernel.id);
  csv.Field("op", kernel.op);
  csv.Field("algorithm", kernel.algorithm);
  csv.Field("limiter", kernel.limiter);
  csv.Field("launches", kernel.launches);
  csv.Field("nodes", fmt::format("{}", fmt::join(kernel.nodes, " ")));
  csv.Field("executed_flops", kernel.executed);
  csv.EndRow(kernel.sums, kernel.sums.intensity(), kernel.doubt);
}

}  // namespace

std::string RenderCsv(const Report& report, GroupBy by, std::size_t top) {
  const auto table = [&]<typename Row>(const std::vector<Row>& rows, auto tell) {
    CsvTable csv(report);
    for (const ReportRow& shown : TopRows(report, by, top)) tell(csv, rows[shown.index]);
    if (!csv.empty()) return csv.Text();
    tell(csv, Row());
    return csv.Head();
  };
  const auto own = [](CsvTable& csv, const auto& row) { Tell(csv, row); };
  const auto group_by = [](const char* key) {
    return [key](CsvTable& csv, const GroupRow& group) {
      csv.Field(key, group.name);
      csv.Field("nodes", group.sums.nodes);
      csv.EndRow(group);
    };
  };
  switch (by) {
    case GroupBy::kOp:
      return table(report.by_op, group_by("op"));
    case GroupBy::kScope:
      return table(report.by_scope, group_by("scope"));
    case GroupBy::kPhase:
      return table(report.by_phase, group_by("phase"));
    case GroupBy::kStory:
      return table(StoriesOf(report), own);
    case GroupBy::kLayer:
      return table(LayersOf(report, report.options.scope_depth), own);
    case GroupBy::kNode:
      return table(report.nodes, own);
    case GroupBy::kKernel:
      break;
  }
  return table(report.kernels, own);
}

}  // namespace dlcost
