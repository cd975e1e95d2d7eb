#include <fmt/format.h>

#include "estimator/report/certainty_text.h"
#include "estimator/report/format.h"
#include "estimator/report/merges.h"
#include "estimator/report/render.h"
#include "estimator/report/rows.h"
#include "estimator/report/runtime_text.h"

namespace dlcost {
namespace {

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : Printable(text)) {
    if (c == '|' || c == '*' || c == '_' || c == '`' || c == '<' || c == '>') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string Number(Count count, Standing standing) {
  return Escaped(Marked(standing, count == Count(0) ? "-" : Readable(count.AsDouble())));
}

std::string Amount(Bytes bytes, Standing standing) {
  return Escaped(Marked(standing, bytes == Bytes(0) ? "-" : ReadableBytes(bytes)));
}

std::string Time(Seconds time, Standing standing) {
  return Escaped(Marked(standing, ReadableTime(time)));
}

}  // namespace

std::string RenderMarkdown(const Report& report, GroupBy by, std::size_t top) {
  const Sums& totals = report.totals;
  const bool timed = report.device.has_value();
  std::string text = fmt::format("**{}**", Escaped(report.model.path));
  if (timed) text += " on " + Escaped(report.device->name);
  const Doubt& doubt = report.certainty.doubt;
  const auto marked = [](Standing standing, const std::string& number) {
    return Escaped(Marked(standing, number));
  };
  text += fmt::format(": {} MACs, {} FLOPs, {} traffic, {} parameters",
                      marked(MacsStanding(doubt), Readable(totals.macs.AsDouble())),
                      marked(FlopsStanding(doubt), Readable(totals.flops.AsDouble())),
                      marked(BytesStanding(doubt), ReadableBytes(totals.bytes())),
                      Readable(report.model.parameters.AsDouble()));
  if (timed) text += fmt::format(", bound {}", Time(totals.bound, BoundStanding(doubt)));
  if (totals.expected) {
    text += fmt::format(", expected {}", Time(*totals.expected, ExpectedStanding(doubt)));
  }
  if (report.fits()) {
    text += fmt::format(", {} into its {:.4g} GiB of memory",
                        *report.fits() ? "fits" : "**does not fit**",
                        report.device->memory->AsDouble() / (1 << 30));
  }
  text += fmt::format("\n\n- runtime {}", Escaped(RuntimeText(report.options)));
  constexpr std::size_t kMost = 5;
  for (const CertaintyLine& line : CertaintyLines(report.certainty, totals, kMost)) {
    text += line.label.empty() ? "\n  - " : fmt::format("\n- **{}**: ", line.label);
    text += Escaped(line.text);
  }
  const std::string what = HeadOfNames(by);
  text += fmt::format("\n\n<details><summary>By {}</summary>\n\n",
                      by == GroupBy::kKernel ? "kernel" : what);
  text += fmt::format("| {} | {} | MACs | FLOPs | bytes |", what,
                      !IsDetail(by)            ? "nodes"
                      : by == GroupBy::kKernel ? "kernel"
                                               : "operator");
  text += timed ? " bound |" : "";
  text += totals.expected ? " expected |" : "";
  text += IsDetail(by) ? "\n|---|---|---:|---:|---:|" : "\n|---|---:|---:|---:|---:|";
  text += timed ? "---:|" : "";
  text += totals.expected ? "---:|" : "";
  const auto add = [&](const std::string& name, const std::string& second, const Sums& sums,
                       const Doubt& of) {
    text += fmt::format("\n| {} | {} | {} | {} | {} |", Escaped(name), second,
                        Number(sums.macs.count(), MacsStanding(of)),
                        Number(sums.flops.count(), FlopsStanding(of)),
                        Amount(sums.bytes(), BytesStanding(of)));
    if (timed) text += fmt::format(" {} |", Time(sums.bound, BoundStanding(of)));
    if (totals.expected) {
      text += fmt::format(" {} |", Time(sums.expected.value_or(Seconds()), ExpectedStanding(of)));
    }
  };
  const ShownRows shown = RowsShown(report, by, top);
  const auto second = [&](const std::string& detail, const Sums& sums) {
    return IsDetail(by) ? Escaped(detail) : std::to_string(sums.nodes);
  };
  for (const ReportRow& row : shown.rows) {
    add(row.name, second(row.detail, *row.sums), *row.sums, row.doubt);
  }
  if (shown.hidden > 0) {
    add(fmt::format("... {} more", shown.hidden), second("", shown.hidden_sums), shown.hidden_sums,
        shown.hidden_doubt);
  }
  if (shown.free_nodes > 0) {
    const Sums free{.nodes = shown.free_nodes};
    add("views, shapes, constants", second("", free), free, {});
  }
  text += "\n\n</details>\n";
  for (const UnknownRow& row : report.unknown) {
    text += fmt::format("\n- unknown: `{}` ({}): {}", Printable(row.node), Escaped(row.op),
                        Escaped(row.why));
  }
  for (const std::string& merge : MergeTexts(report.merges)) text += "\n- merge: " + Escaped(merge);
  for (const std::string& note : report.notes) text += "\n- " + Escaped(note);
  return text + "\n";
}

}  // namespace dlcost
