#include <fmt/format.h>
#include <fmt/ranges.h>

#include "estimator/core/error.h"
#include "estimator/profile_report/tables.h"
#include "estimator/report/format.h"

namespace dlcost {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;
using F = ProfileField;

std::string Plural(std::int64_t count, const std::string& word) {
  const char* const ending = count == 1 ? "" : word.ends_with("ch") ? "es" : "s";
  return fmt::format("{} {}{}", count, word, ending);
}

std::string SecondsText(Seconds time) { return CellText({time.value(), true}, F::kSeconds); }

// "302 launches, 23.1 ms"; nothing for no rows.
void AddTotal(Lines& lines, const char* label, const ProfileGroup& total, bool sampled) {
  if (total.rows() == 0) return;
  std::string text = sampled ? Plural(total.rows(), "row") : Plural(total.launches(), "launch");
  if (const auto time = total.Time()) {
    text += ", " + CellText({time->value, time->whole}, F::kSeconds);
    if (sampled) text += " of all threads together";
  }
  lines.emplace_back(label, text);
}

void AddWork(Lines& lines, const ProfileGroup& total) {
  std::vector<std::string> work, rates, shares;
  if (const auto flops = total.Flops()) {
    work.push_back((flops->whole ? "" : "\u2265 ") + WithUnit(flops->value, "FLOP"));
  }
  if (const auto bytes = total.Bytes()) {
    work.push_back(CellText({bytes->value, bytes->whole}, F::kBytes) + " of device memory");
  }
  if (const auto intensity = total.Intensity()) {
    work.push_back(ReadableRatio(*intensity) + " FLOP/byte");
  }
  if (const auto rate = total.FlopRate()) {
    rates.push_back(CellText({rate, true}, F::kFlopRate));
  }
  if (const auto rate = total.ByteRate()) {
    rates.push_back(CellText({rate, true}, F::kByteRate));
  }
  if (const auto share = total.ComputeShare()) shares.push_back(Percent(*share) + " of compute");
  if (const auto share = total.MemoryShare()) {
    shares.push_back(Percent(*share) + " of memory bandwidth");
  }
  if (!work.empty()) lines.emplace_back("work", fmt::format("{}", fmt::join(work, ", ")));
  if (!rates.empty()) lines.emplace_back("reached", fmt::format("{}", fmt::join(rates, ", ")));
  if (!shares.empty()) lines.emplace_back("peak", fmt::format("{}", fmt::join(shares, ", ")));
  if (const auto occupancy = total.Mean(Metric::kOccupancy)) {
    lines.emplace_back("occupancy", Percent(*occupancy));
  }
}

void AddActivity(Lines& lines, const DeviceActivity& activity, bool several) {
  std::string where;
  if (several) {
    where = fmt::format("{}{}: ", Printable(activity.device, 40),
                        activity.process ? fmt::format(" process {}", *activity.process) : "");
  }
  const auto share = [&](Seconds part) {
    return activity.span.value() > 0 ? Percent(part / activity.span) : "-";
  };
  lines.emplace_back("idle", fmt::format("{}{} of {} ({}) between the first start and the last end",
                                         where, SecondsText(activity.idle),
                                         SecondsText(activity.span), share(activity.idle)));
  if (activity.gaps == 0) return;
  lines.emplace_back(
      "gaps",
      fmt::format("{}{}, median {}, nine of ten up to {}; longest {} behind {}, before {}", where,
                  activity.gaps, SecondsText(activity.median_gap), SecondsText(activity.p90_gap),
                  SecondsText(activity.longest_gap), Printable(activity.before_longest, 40),
                  Printable(activity.after_longest, 40)));
  std::string text = fmt::format("{}{} up to {}: idle for {} ({})", where,
                                 Plural(activity.launch_gaps, "gap"), SecondsText(kLaunchGap),
                                 SecondsText(activity.launch_idle), share(activity.launch_idle));
  if (activity.launch_bound > 0) {
    text += fmt::format("; {} took less time than the gap before: {} of work, {} of waiting",
                        Plural(activity.launch_bound, "launch"),
                        SecondsText(activity.launch_bound_time),
                        SecondsText(activity.launch_bound_gaps));
  }
  lines.emplace_back("launching", text);
}

}  // namespace

Lines SummaryLines(const ProfileReport& report, const ProfileReportOptions& options) {
  Lines lines;
  lines.emplace_back("measured",
                     fmt::format("{} ({})", Printable(report.path, 200), report.format));
  if (options.device) {
    std::string text = options.device->name;
    for (const auto& roof : RoofsOf(report, options)) {
      text += fmt::format(", {} {}", roof.name, CellText({roof.peak.value(), true}, F::kFlopRate));
    }
    if (const auto& bandwidth = options.device->memory.bandwidth) {
      text += ", memory " + CellText({bandwidth->value(), true}, F::kByteRate);
    }
    lines.emplace_back("device", text);
  }
  AddTotal(lines, report.sampled ? "functions" : "kernels", report.kernels_total, report.sampled);
  AddTotal(lines, "operators", report.ops_total, report.sampled);
  AddTotal(lines, "copies", report.copies_total, false);
  AddTotal(lines, "calls", report.calls_total, false);
  if (report.runs > 0) {
    std::string text = std::to_string(report.runs);
    if (const auto time = MainTotal(report).Time()) {
      const double each = time->value / static_cast<double>(report.runs);
      text += fmt::format(" of the model, {} each", CellText({each, time->whole}, F::kSeconds));
    }
    lines.emplace_back("runs", text);
  }
  AddWork(lines, MainTotal(report));
  for (const DeviceActivity& activity : report.activity) {
    AddActivity(lines, activity, report.activity.size() > 1);
  }
  if (report.tail && report.tail->launches > 0) {
    const LaunchTail& tail = *report.tail;
    const double share = tail.of_time.value() > 0 ? tail.time / tail.of_time : 0;
    lines.emplace_back("tail",
                       fmt::format("{} of {} launches take less than {} ({}): {}, {} of the time",
                                   tail.launches, tail.of_launches, SecondsText(tail.threshold),
                                   tail.threshold_from, SecondsText(tail.time), Percent(share)));
  }
  if (const std::string unknown = UnknownCountersText(report.unknown_counters); !unknown.empty()) {
    lines.emplace_back("not read", unknown);
  }
  for (const std::string& note : report.notes) lines.emplace_back("note", note);
  return lines;
}

}  // namespace dlcost
