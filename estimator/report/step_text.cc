#include <fmt/format.h>

#include "estimator/core/error.h"
#include "estimator/report/format.h"
#include "estimator/report/render.h"
#include "estimator/report/table.h"

namespace dlcost {
namespace {

std::vector<std::string> PhaseCells(const GroupRow& row, bool timed, bool expected) {
  const Sums& sums = row.sums;
  const auto number = [](bool none, const std::string& text) {
    return none ? std::string("-") : text;
  };
  std::vector<std::string> cells = {row.name, std::to_string(sums.nodes),
                                    number(sums.macs == Macs(), Readable(sums.macs.AsDouble())),
                                    number(sums.flops == Flops(), Readable(sums.flops.AsDouble())),
                                    number(sums.bytes() == Bytes(), ReadableBytes(sums.bytes()))};
  if (timed) cells.push_back(ReadableTime(sums.bound));
  if (expected) cells.push_back(ReadableTime(sums.expected.value_or(Seconds())));
  return cells;
}

// "backward is 2.03 x forward (MACs): conv1 needs no data gradient (118.0 M MACs)".
std::string RatioText(const Report& report) {
  const std::optional<double> ratio = report.BackwardRatio();
  if (!ratio) return "";
  Doubt doubt;
  for (const GroupRow& row : report.by_phase) Accumulate(doubt, row.doubt);
  const bool partial = doubt.unknown + doubt.bounded > 0;
  std::string text =
      fmt::format("backward is {}{:.2f} x forward in MACs", partial ? "at least " : "", *ratio);
  const auto& skipped = report.step->without_data_gradient;
  if (skipped.empty()) return text;
  Macs macs;
  for (const StepFacts::NoGradient& product : skipped) macs += product.macs;
  text += fmt::format(": {}{} need{} no data gradient ({} MACs)", Printable(skipped[0].node),
                      skipped.size() == 1 ? "" : fmt::format(" and {} more", skipped.size() - 1),
                      skipped.size() == 1 ? "s" : "", Readable(macs.AsDouble()));
  return text;
}

}  // namespace

std::vector<std::string> StepLines(const Report& report) {
  if (report.step == nullptr) return {};
  const StepFacts& step = *report.step;
  std::string types = step.precision.empty() ? "" : ", precision " + step.precision;
  if (step.micro_batches > Count(1)) {
    types += fmt::format(", {} micro-batches", step.micro_batches.value());
  }
  if (step.clips) types += ", gradients clipped";
  if (step.recompute != "none") types += ", recompute " + Printable(step.recompute);
  std::vector<std::string> lines = {fmt::format("{} parameters trained by {}, loss {}{}",
                                                Readable(step.trained.AsDouble()), step.optimizer,
                                                step.loss, types)};
  if (std::string ratio = RatioText(report); !ratio.empty()) lines.push_back(std::move(ratio));
  const std::string masters =
      step.master_bytes == Bytes(0)
          ? ""
          : fmt::format("weights in float32 {}, ", ReadableBytes(step.master_bytes));
  lines.push_back(fmt::format("{}gradients {}, optimizer states {}, saved for backward {}", masters,
                              ReadableBytes(step.gradient_bytes), ReadableBytes(step.state_bytes),
                              ReadableBytes(step.saved_bytes)));
  return lines;
}

std::string RenderStep(const Report& report, std::size_t max_width) {
  if (report.step == nullptr) return "";
  const bool timed = report.device.has_value();
  const bool expected = report.totals.expected.has_value();
  std::vector<std::string> head = {"phase", "nodes", "MACs", "FLOPs", "bytes"};
  if (timed) head.emplace_back("bound");
  if (expected) head.emplace_back("expected");
  std::vector<bool> left(head.size(), false);
  left[0] = true;
  Table table(head, left);
  for (const GroupRow& row : report.by_phase) table.Add(PhaseCells(row, timed, expected));
  table.MayDrop({"nodes", "FLOPs"});
  std::string out = table.Fit(max_width, "--format json has them") + "\n";
  const char* label = "step";
  for (const std::string& line : StepLines(report)) {
    out += fmt::format("{:<10}{}\n", label, line);
    label = "";
  }
  return out;
}

}  // namespace dlcost
