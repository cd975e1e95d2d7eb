#include <fmt/format.h>

#include <algorithm>

#include "estimator/compare/compare_table.h"
#include "estimator/compare/slice_table.h"
#include "estimator/report/format.h"

namespace dlcost {
namespace {

// Names come from files: what Markdown would read as markup is escaped.
std::string Cell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '_' || c == '`' || c == '\\') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

std::string Line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + Cell(cell) + " |";
  return line + "\n";
}

std::string MarkdownTable(const CompareCells& cells, std::size_t top) {
  std::string out = Line(cells.head) + "|";
  for (const bool left : cells.left) out += left ? "---|" : "---:|";
  out += "\n";
  const std::size_t shown = top == 0 ? cells.rows.size() : std::min(top, cells.rows.size());
  for (std::size_t r = 0; r < shown; ++r) out += Line(cells.rows[r]);
  const std::size_t left_out = cells.left_out + cells.rows.size() - shown;
  if (left_out > 0) out += fmt::format("\n{} more rows\n", left_out);
  return out;
}

}  // namespace

std::string RenderCompareMarkdown(const Comparison& comparison, const CompareTextOptions& options) {
  std::string out = fmt::format("## {}{}{}\n\n", Cell(comparison.model),
                                comparison.device.empty() ? "" : " on ", Cell(comparison.device));
  out += fmt::format("Predicted for runtime {}\n\n", Cell(comparison.runtime_text));
  out += MarkdownTable(CellsOf(comparison, options.top), options.top);
  for (const SliceView& view : ViewsOf(comparison.analyses)) {
    if (std::count(options.by.begin(), options.by.end(), view.name) == 0) continue;
    out += fmt::format("\n### {}\n\n", view.title) + MarkdownTable(CellsOf(view, 0), options.top);
  }
  for (const CompareCells& rest :
       {UnmatchedKernelCells(comparison), UnmatchedNodeCells(comparison)}) {
    if (!rest.rows.empty()) out += "\n" + MarkdownTable(rest, options.top);
  }
  out += "\n";
  for (const auto& [label, text] : SummaryLines(comparison))
    out += fmt::format("- {}: {}\n", label, Cell(text));
  return out;
}

}  // namespace dlcost
