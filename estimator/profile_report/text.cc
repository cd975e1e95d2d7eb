#include <fmt/format.h>

#include <functional>

#include "estimator/core/error.h"
#include "estimator/profile_report/render.h"
#include "estimator/profile_report/tables.h"
#include "estimator/report/table.h"

namespace dlcost {
namespace {

// Names come from files: what Markdown would read as markup is escaped.
std::string Escaped(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '_' || c == '`' || c == '\\') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

std::string MarkdownLine(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + Escaped(cell) + " |";
  return line + "\n";
}

}  // namespace

std::string RenderProfileText(const ProfileReport& report, const ProfileReportOptions& options,
                              const ProfileTextOptions& text) {
  std::string out;
  for (const auto& [label, line] : SummaryLines(report, options)) {
    out += fmt::format("{:<10}  {}\n", label, line);
  }
  const std::string plot = RenderPlot(ChartOf(report, options), text.plot);
  if (!plot.empty()) out += "\n" + plot;
  for (const ProfileTable& table : TablesOf(report)) {
    const ProfileCells cells = CellsOf(table, report.sampled, text.top);
    Table rows(cells.head, cells.left);
    for (const auto& row : cells.rows) rows.Add(row);
    rows.MayDrop({"stores used", "loads used", "lanes busy", "SMs busy", "IPC", "instr.", "cycles",
                  "mean", "tensor pipe", "FLOP/B", "occupancy", "bytes", "FLOPs", "family"});
    out += fmt::format("\n{}\n\n{}", table.title, rows.Fit(text.width, "--format csv has them"));
    if (cells.left_out > 0) out += fmt::format("{} more (--top 0 shows all)\n", cells.left_out);
  }
  return out;
}

std::string RenderProfileMarkdown(const ProfileReport& report, const ProfileReportOptions& options,
                                  std::size_t top) {
  std::string out = fmt::format("## {}\n\n", Escaped(Printable(report.path, 200)));
  for (const auto& [label, line] : SummaryLines(report, options)) {
    out += fmt::format("- {}: {}\n", label, Escaped(line));
  }
  for (const ProfileTable& table : TablesOf(report)) {
    const ProfileCells cells = CellsOf(table, report.sampled, top);
    out += fmt::format("\n### {}\n\n{}|", table.title, MarkdownLine(cells.head));
    for (std::size_t c = 0; c < cells.head.size(); ++c) out += cells.left[c] ? "---|" : "---:|";
    out += "\n";
    for (const auto& row : cells.rows) out += MarkdownLine(row);
    if (cells.left_out > 0) out += fmt::format("\n{} more\n", cells.left_out);
  }
  return out;
}

namespace {

std::string OneBelowTheOther(const std::vector<ProfileReport>& reports,
                             const std::function<std::string(const ProfileReport&)>& render) {
  std::string out;
  for (const ProfileReport& report : reports) out += (out.empty() ? "" : "\n") + render(report);
  return out;
}

}  // namespace

std::string RenderProfilesText(const std::vector<ProfileReport>& reports,
                               const ProfileReportOptions& options,
                               const ProfileTextOptions& text) {
  return OneBelowTheOther(reports, [&](const ProfileReport& report) {
    return RenderProfileText(report, options, text);
  });
}

std::string RenderProfilesMarkdown(const std::vector<ProfileReport>& reports,
                                   const ProfileReportOptions& options, std::size_t top) {
  return OneBelowTheOther(reports, [&](const ProfileReport& report) {
    return RenderProfileMarkdown(report, options, top);
  });
}

}  // namespace dlcost
