#include <fmt/format.h>

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

std::string Number(Count count) { return count == Count(0) ? "-" : Readable(count.AsDouble()); }

}  // namespace

std::string RenderMarkdown(const Report& report) {
  const Sums& totals = report.totals;
  const bool timed = report.device.has_value();
  std::string text = fmt::format("**{}**", Escaped(report.model.path));
  if (timed) text += " on " + Escaped(report.device->name);
  text += fmt::format(": {} MACs, {} FLOPs, {} traffic, {} parameters",
                      Readable(totals.macs.AsDouble()), Readable(totals.flops.AsDouble()),
                      ReadableBytes(totals.bytes()), Readable(report.model.parameters.AsDouble()));
  if (timed) text += fmt::format(", bound {}", ReadableTime(totals.bound));
  if (totals.expected) text += fmt::format(", expected {}", ReadableTime(*totals.expected));
  if (report.fits()) {
    text += fmt::format(", {} into its {:.4g} GiB of memory",
                        *report.fits() ? "fits" : "**does not fit**",
                        report.device->memory->AsDouble() / (1 << 30));
  }
  text += "\n\n<details><summary>By operator</summary>\n\n";
  text += "| operator | nodes | MACs | FLOPs | bytes |";
  text += timed ? " bound |" : "";
  text += totals.expected ? " expected |" : "";
  text += "\n|---|---:|---:|---:|---:|";
  text += timed ? "---:|" : "";
  text += totals.expected ? "---:|" : "";
  for (const GroupRow& group : report.by_op) {
    const Sums& sums = group.sums;
    text += fmt::format("\n| {} | {} | {} | {} | {} |", Escaped(group.name), sums.nodes,
                        Number(sums.macs.count()), Number(sums.flops.count()),
                        sums.bytes() == Bytes(0) ? "-" : ReadableBytes(sums.bytes()));
    if (timed) text += fmt::format(" {} |", ReadableTime(sums.bound));
    if (totals.expected) {
      text += fmt::format(" {} |", ReadableTime(sums.expected.value_or(Seconds())));
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
