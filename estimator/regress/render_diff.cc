#include "estimator/regress/render_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "estimator/regress/diff_fields.h"
#include "estimator/regress/wording.h"
#include "estimator/report/certainty_text.h"
#include "estimator/report/json_fields.h"
#include "estimator/report/runtime_text.h"
#include "estimator/report/table.h"
#include "estimator/report/wrap.h"

namespace dlcost {
namespace {

bool Same(double a, double b, MetricUnit unit) {
  return a == b || (unit == MetricUnit::kSeconds && std::abs(a - b) < 1e-9 * std::abs(a));
}

std::string ValueText(const std::optional<double>& value, MetricUnit unit, Standing standing) {
  return value ? Marked(standing, FormatMetric(*value, unit)) : "-";
}

std::string ChangeText(const TotalRow& row) {
  if (!row.before || !row.after) return "-";
  const bool exact =
      row.before_standing == Standing::kExact && row.after_standing == Standing::kExact;
  const std::string text =
      row.Differs() ? FormatChange(*row.after - *row.before, row.metric->unit) : "=";
  return exact ? text : Marked(Standing::kAbout, text);
}

std::string PercentText(const TotalRow& row) {
  if (!row.before || !row.after || !row.Differs()) return "";
  return FormatPercent(*row.before, *row.after);
}

std::string SameText(const ReportDiff& diff) {
  const auto nodes = [](std::int64_t n) { return fmt::format("{} node{}", n, n == 1 ? "" : "s"); };
  const char* are = diff.same == 1 ? "is" : "are";
  if (diff.changes.empty()) {
    std::string text = fmt::format("all {} {} the same", nodes(diff.same), are);
    if (diff.renamed == diff.same && diff.same > 0) return text + ", under other names";
    if (diff.renamed > 0) text += fmt::format(", {} under another name", diff.renamed);
    return text;
  }
  std::string text =
      diff.same == 0 ? "no node is the same" : fmt::format("{} {} the same", nodes(diff.same), are);
  if (diff.renamed > 0) {
    text += fmt::format("; {} {} another name", nodes(diff.renamed),
                        diff.renamed == 1 ? "has" : "have");
  }
  return text;
}

// Before, after and change of one number per operator.
struct GroupCell {
  std::string title;
  MetricUnit unit;
  double (*get)(const Sums& sums);
};
std::vector<GroupCell> GroupCells(const ReportDiff& diff) {
  std::vector<GroupCell> cells = {
      {"MACs", MetricUnit::kMacs, [](const Sums& s) { return s.macs.AsDouble(); }},
      {"bytes", MetricUnit::kBytes, [](const Sums& s) { return s.bytes().AsDouble(); }}};
  if (diff.before->device && diff.after->device) {
    cells.push_back({"bound", MetricUnit::kSeconds, [](const Sums& s) { return s.bound.value(); }});
    cells.push_back({"expected", MetricUnit::kSeconds,
                     [](const Sums& s) { return s.expected.value_or(Seconds(0)).value(); }});
  }
  return cells;
}

std::string CellText(const GroupDiff& group, const GroupCell& cell) {
  const double before = group.before ? cell.get(*group.before) : 0;
  const double after = group.after ? cell.get(*group.after) : 0;
  return Same(before, after, cell.unit) ? "=" : FormatChange(after - before, cell.unit);
}

bool Differs(const GroupDiff& group, const std::vector<GroupCell>& cells) {
  return !group.before || !group.after || group.before->nodes != group.after->nodes ||
         std::any_of(cells.begin(), cells.end(), [&](const GroupCell& cell) {
           return !Same(cell.get(*group.before), cell.get(*group.after), cell.unit);
         });
}

std::string NodesText(const GroupDiff& group) {
  const auto count = [](const std::optional<Sums>& sums) { return sums ? sums->nodes : 0; };
  const std::int64_t before = count(group.before), after = count(group.after);
  return before == after ? std::to_string(after) : fmt::format("{} -> {}", before, after);
}

// Operators whose numbers changed, as rows of text under `head`.
std::vector<std::vector<std::string>> GroupTable(const ReportDiff& diff,
                                                 std::vector<std::string>& head) {
  const std::vector<GroupCell> cells = GroupCells(diff);
  head = {"operator", "nodes"};
  for (const GroupCell& cell : cells) head.push_back(cell.title);
  std::vector<std::vector<std::string>> rows;
  for (const GroupDiff& group : diff.by_op) {
    if (!Differs(group, cells)) continue;
    std::vector<std::string> row = {Printable(group.name), NodesText(group)};
    for (const GroupCell& cell : cells) row.push_back(CellText(group, cell));
    rows.push_back(std::move(row));
  }
  return rows;
}

// What is left when every change has its part; "" when nothing is, or when there is no change.
std::string RestText(const ReportDiff& diff) {
  if (diff.changes.empty() || diff.rest.IsZero()) return "";
  return fmt::format("{}: {}", diff.conditions.empty() ? "elsewhere" : "the other conditions",
                     CostText(diff.rest, *diff.before));
}

std::size_t Shown(const ReportDiff& diff, const DiffTextOptions& options) {
  return options.top == 0 ? diff.changes.size() : std::min(options.top, diff.changes.size());
}

// Markdown gives these characters a meaning.
std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '_' || c == '`' || c == '<' || c == '\\') {
      escaped += '\\';
    }
    escaped += c;
  }
  return escaped;
}

}  // namespace

bool TotalRow::Differs() const {
  if (!before || !after) return before.has_value() != after.has_value();
  return !Same(*before, *after, metric->unit);
}

std::string FileTitle(const Report& report) {
  return Printable(report.model.path.substr(report.model.path.rfind('/') + 1));
}

std::string Title(const Report& report) {
  std::string title = FileTitle(report);
  if (report.device) title += " on " + report.device->id;
  if (!report.options.runtime.empty()) title += ", runtime " + RuntimeName(report.options);
  return title;
}

std::string Headline(const ReportDiff& diff) {
  if (!diff.changes.empty()) {
    return fmt::format("{} {}", diff.changes.size(),
                       diff.changes.size() == 1 ? "change" : "changes");
  }
  const std::vector<TotalRow> rows = TotalRows(diff);
  const bool totals =
      std::any_of(rows.begin(), rows.end(), [](const TotalRow& row) { return row.Differs(); });
  if (!totals) return "no difference";
  if (!diff.conditions.empty()) return "the same model under other conditions";
  return diff.rest.parameters == 0
             ? "no change in the nodes that run"
             : "no change in the nodes that run; they share weights otherwise";
}

std::vector<TotalRow> TotalRows(const ReportDiff& diff) {
  std::vector<TotalRow> rows;
  for (const TotalMetric& metric : Metrics()) {
    const TotalRow row = {&metric, metric.total(*diff.before), metric.total(*diff.after),
                          metric.StandingOf(diff.before->certainty.doubt),
                          metric.StandingOf(diff.after->certainty.doubt)};
    if (row.before || row.after) rows.push_back(row);
  }
  return rows;
}

std::string RenderDiffText(const ReportDiff& diff, const DiffTextOptions& options) {
  std::string text =
      fmt::format("before    {}\nafter     {}\n", Title(*diff.before), Title(*diff.after));
  for (const std::string& note : diff.Notes()) text += "note      " + note + "\n";
  Table totals({"", "before", "after", "change", ""});
  for (const TotalRow& row : TotalRows(diff)) {
    const MetricUnit unit = row.metric->unit;
    if (unit == MetricUnit::kNumber && !row.Differs() && row.after.value_or(0) == 0) continue;
    totals.Add({std::string(row.metric->title), ValueText(row.before, unit, row.before_standing),
                ValueText(row.after, unit, row.after_standing), ChangeText(row), PercentText(row)});
  }
  constexpr const char* kRemedy = "-o FILE or a pipe has them";
  totals.MayDrop({"change"});
  text += "\n" + totals.Fit(options.max_width, kRemedy) + "\n";

  text += fmt::format("{}; {}\n", Headline(diff), SameText(diff));
  const std::size_t shown = Shown(diff, options);
  for (std::size_t i = 0; i < shown; ++i) {
    const Change& change = diff.changes[i];
    const std::string line =
        fmt::format("{:>3}. {}: {}", i + 1, change.where, Sentence(change, *diff.before));
    text += Wrap(line, options.max_width, 5) + "\n";
  }
  if (shown < diff.changes.size()) {
    text += fmt::format("     ... {} more\n", diff.changes.size() - shown);
  }
  if (const std::string rest = RestText(diff); !rest.empty()) {
    text += Wrap("     " + rest, options.max_width, 5) + "\n";
  }
  std::vector<std::string> head;
  const std::vector<std::vector<std::string>> rows = GroupTable(diff, head);
  if (!rows.empty()) {
    Table groups(head);
    for (const std::vector<std::string>& row : rows) groups.Add(row);
    groups.MayDrop({"nodes", "bytes", "MACs"});
    text += "\n" + groups.Fit(options.max_width, kRemedy);
  }
  return text;
}

std::string RenderDiffMarkdown(const ReportDiff& diff, const DiffTextOptions& options) {
  std::string text = fmt::format("**{}** → **{}**: {}\n\n", Escaped(Title(*diff.before)),
                                 Escaped(Title(*diff.after)), Headline(diff));
  const std::vector<std::string> notes = diff.Notes();
  for (const std::string& note : notes) text += fmt::format("- {}\n", Escaped(note));
  if (!notes.empty()) text += "\n";
  std::string rows;
  for (const TotalRow& row : TotalRows(diff)) {
    if (!row.Differs()) continue;
    const MetricUnit unit = row.metric->unit;
    rows += fmt::format("| {} | {} | {} | {} | {} |\n", row.metric->title,
                        ValueText(row.before, unit, row.before_standing),
                        ValueText(row.after, unit, row.after_standing), ChangeText(row),
                        PercentText(row));
  }
  if (!rows.empty()) {
    text += "| | before | after | change | |\n|---|---:|---:|---:|---:|\n" + rows + "\n";
  }
  constexpr std::size_t kUnfolded = 5;
  const std::size_t shown = Shown(diff, options);
  const auto item = [&](std::size_t i) {
    const Change& change = diff.changes[i];
    return fmt::format("{}. `{}`: {}\n", i + 1, change.where,
                       Escaped(Sentence(change, *diff.before)));
  };
  for (std::size_t i = 0; i < std::min(kUnfolded, shown); ++i) text += item(i);
  if (shown > kUnfolded) {
    text += fmt::format("\n<details><summary>{} more</summary>\n\n", shown - kUnfolded);
    for (std::size_t i = kUnfolded; i < shown; ++i) text += item(i);
    text += "\n</details>\n";
  }
  if (const std::string rest = RestText(diff); !rest.empty()) text += "\n" + Escaped(rest) + "\n";
  std::vector<std::string> head;
  const std::vector<std::vector<std::string>> groups = GroupTable(diff, head);
  if (!groups.empty()) {
    text += "\n<details><summary>By operator</summary>\n\n|";
    for (const std::string& title : head) text += fmt::format(" {} |", title);
    text += "\n|---|";
    for (std::size_t i = 1; i < head.size(); ++i) text += "---:|";
    for (const std::vector<std::string>& row : groups) {
      text += "\n|";
      for (const std::string& cell : row) text += fmt::format(" {} |", Escaped(cell));
    }
    text += "\n\n</details>\n";
  }
  return text + fmt::format("\n{}.\n", SameText(diff));
}

std::string RenderDiffJson(const ReportDiff& diff) {
  return RenderFields(diff, diff.before->device && diff.after->device);
}

}  // namespace dlcost
