#include "estimator/compare/compare_table.h"
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

std::string TimeText(const std::optional<Seconds>& time) {
  return time ? ReadableTime(*time) : "-";
}

}  // namespace

std::string RenderCompareMarkdown(const Comparison& comparison) {
  const CompareCells cells = CellsOf(comparison);
  std::string out = fmt::format("## {}{}{}\n\n", Cell(comparison.model),
                                comparison.device.empty() ? "" : " on ", Cell(comparison.device));
  out += fmt::format("Predicted for runtime {}\n\n", Cell(comparison.runtime_text));
  out += Line(cells.head) + "|";
  for (std::size_t c = 0; c < cells.head.size(); ++c)
    out += c == 0 || cells.left[c] ? "---|" : "---:|";
  out += "\n";
  for (const auto& row : cells.rows) out += Line(row);
  if (!comparison.unmatched_kernels.empty()) {
    out +=
        "\nMeasured, without an operator:\n\n| kernel | launches | time | why "
        "|\n|---|---:|---:|---|\n";
    for (const UnmatchedKernel& kernel : comparison.unmatched_kernels) {
      out += Line({Printable(kernel.name, 60), CountText(kernel.launches), TimeText(kernel.time),
                   kernel.why});
    }
  }
  if (!comparison.unmatched_nodes.empty()) {
    out += "\nPredicted, not measured:\n\n| node | operator | bound | why |\n|---|---|---:|---|\n";
    for (const UnmatchedNode& node : comparison.unmatched_nodes) {
      out += Line({Printable(node.node, 60), node.op, TimeText(node.bound), node.why});
    }
  }
  out += "\n";
  for (const auto& [label, text] : SummaryLines(comparison))
    out += fmt::format("- {}: {}\n", label, Cell(text));
  return out;
}

}  // namespace dlcost
