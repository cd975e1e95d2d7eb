#include <fmt/format.h>

#include "estimator/report/certainty_text.h"
#include "estimator/report/format.h"
#include "estimator/report/render.h"

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

std::string RenderMarkdown(const Report& report) {
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
  constexpr std::size_t kMost = 5;
  text += "\n";
  for (const CertaintyLine& line : CertaintyLines(report.certainty, totals, kMost)) {
    text += line.label.empty() ? "\n  - " : fmt::format("\n- **{}**: ", line.label);
    text += Escaped(line.text);
  }
  if (!report.certainty.Silent()) text += "\n";
  text += "\n<details><summary>By operator</summary>\n\n";
  text += "| operator | nodes | MACs | FLOPs | bytes |";
  text += timed ? " bound |" : "";
  text += totals.expected ? " expected |" : "";
  text += "\n|---|---:|---:|---:|---:|";
  text += timed ? "---:|" : "";
  text += totals.expected ? "---:|" : "";
  for (const GroupRow& group : report.by_op) {
    const Sums& sums = group.sums;
    text += fmt::format("\n| {} | {} | {} | {} | {} |", Escaped(group.name), sums.nodes,
                        Number(sums.macs.count(), MacsStanding(group.doubt)),
                        Number(sums.flops.count(), FlopsStanding(group.doubt)),
                        Amount(sums.bytes(), BytesStanding(group.doubt)));
    if (timed) text += fmt::format(" {} |", Time(sums.bound, BoundStanding(group.doubt)));
    if (totals.expected) {
      text += fmt::format(" {} |",
                          Time(sums.expected.value_or(Seconds()), ExpectedStanding(group.doubt)));
    }
  }
  text += "\n\n</details>\n";
  for (const UnknownRow& row : report.unknown) {
    text += fmt::format("\n- unknown: `{}` ({}): {}", Printable(row.node), Escaped(row.op),
                        Escaped(row.why));
  }
  for (const std::string& note : report.notes) text += "\n- " + Escaped(note);
  return text + "\n";
}

}  // namespace dlcost
