#include <fmt/ranges.h>

#include <algorithm>

#include "estimator/report/blocks.h"
#include "estimator/report/certainty_text.h"
#include "estimator/report/format.h"
#include "estimator/report/merges.h"
#include "estimator/report/render.h"
#include "estimator/report/rows.h"
#include "estimator/report/runtime_text.h"
#include "estimator/report/table.h"

namespace dlcost {
namespace {

constexpr const char* kBold = "\033[1m";
constexpr const char* kRed = "\033[31m";
constexpr std::size_t kBarColumns = 8;

// Of the kernels whose bytes the row has.
std::string IntensityText(const ReportRow& row) {
  if (row.kernel_flops == Flops() || row.sums->bytes() == Bytes()) return "-";
  const std::string text = ReadableRatio((row.kernel_flops / row.sums->bytes()).value());
  const bool exact =
      FlopsStanding(row.doubt) == Standing::kExact && BytesStanding(row.doubt) == Standing::kExact;
  return Marked(exact ? Standing::kExact : Standing::kAbout, text);
}

// ": fits into the 80 GiB of the device (0.1%)"; "" where that is not known. Memories come in
// powers of two.
std::string CapacityText(const Report& report) {
  if (!report.fits()) return "";
  const double memory = report.device->memory->AsDouble();
  return fmt::format(": {} the {:.4g} GiB of the device ({})",
                     *report.fits() ? "fits into" : "does NOT fit into", memory / (1 << 30),
                     Percent(report.needed().AsDouble() / memory));
}

class TextRenderer {
 public:
  TextRenderer(const Report& report, const TextOptions& options)
      : report_(report), options_(options), timed_(report.device.has_value()) {}

  std::string Run() {
    Header();
    ShowCertainty();
    out_ += "\n" + TableText() + "\n";
    if (report_.step != nullptr) out_ += RenderStep(report_, options_.max_width);
    Footer();
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void Line(const std::string& label, fmt::format_string<Args...> format, Args&&... args) {
    const std::string text = fmt::format(format, std::forward<Args>(args)...);
    out_ += fmt::format("{}{:<10}{}{}\n", options_.colour ? kBold : "", label,
                        options_.colour ? kPlain : "", text);
  }

  void Header() {
    const ModelFacts& model = report_.model;
    std::vector<std::string> opsets;
    for (const auto& [domain, version] : model.opset) {
      opsets.push_back(domain.empty() ? std::to_string(version)
                                      : fmt::format("{} {}", domain, version));
    }
    Line("model", "{}: {} nodes, opset {}{}", Printable(model.path), model.nodes,
         fmt::join(opsets, ", "),
         model.producer.empty() ? "" : ", from " + Printable(model.producer));
    if (!model.dims.empty()) {
      std::vector<std::string> dims;
      for (const auto& [name, size] : model.dims) {
        dims.push_back(fmt::format("{}={}", Printable(name), size));
      }
      Line("dims", "{}", fmt::join(dims, ", "));
    }
    Line("weights", "{} parameters, {}", Readable(model.parameters.AsDouble()),
         ReadableBytes(model.weight_bytes));
    if (timed_) Device(*report_.device);
    Line("runtime", "{}", RuntimeText(report_.options));
  }

  void ShowCertainty() {
    constexpr std::size_t kMost = 5;
    for (const CertaintyLine& line : CertaintyLines(report_.certainty, report_.totals, kMost)) {
      Line(line.label, "{}", line.text);
    }
  }

  void Device(const DeviceFacts& device) {
    std::string roofs;
    for (const auto& roof : device.roofs) {
      roofs += fmt::format("; {} {}", roof.name, ReadableRate(roof.peak.value(), roof.unit()));
      if (roof.ridge) roofs += fmt::format(" (ridge {})", ReadableRatio(roof.ridge->value()));
    }
    const std::string bandwidth =
        device.bandwidth ? ReadableRate(device.bandwidth->value(), "B") : "bandwidth not public";
    Line("device", "{}: {}{}", device.name, bandwidth, roofs);
  }

  std::string TableText() {
    const bool detail = IsDetail(options_.by);
    std::vector<std::string> head = {HeadOfNames(options_.by)};
    std::vector<bool> left = {true};
    const auto column = [&](const char* name, bool to_left = false) {
      head.emplace_back(name);
      left.push_back(to_left);
    };
    if (detail) {
      column(options_.by == GroupBy::kNode    ? "operator"
             : options_.by == GroupBy::kStory ? "operators"
                                              : "kernel",
             true);
    }
    if (!detail) column("nodes");
    column("MACs");
    column("FLOPs");
    column("bytes");
    column("FLOP/B");
    if (timed_) {
      column("bound");
      if (report_.totals.expected) column("expected");
      column("share");
      if (options_.blocks) column("", true);
      column("limited by", true);
    }
    Table table(head, left);
    const ShownRows shown = RowsShown(report_, options_.by, options_.top);
    for (std::size_t r = 0; r < shown.rows.size(); ++r) {
      const bool unknown = r < shown.unknown;
      table.Add(Cells(shown.rows[r]), unknown && options_.colour ? kRed : "");
      if (unknown && r + 1 == shown.unknown) table.AddRule();
    }
    if (shown.hidden > 0) {
      table.Add(Cells({.name = fmt::format("... {} more", shown.hidden),
                       .sums = &shown.hidden_sums,
                       .kernel_flops = shown.hidden_kernel_flops,
                       .doubt = shown.hidden_doubt}));
    }
    if (shown.free_nodes > 0) {
      const Sums free{.nodes = shown.free_nodes};
      table.Add(Cells({.name = "views, shapes, constants", .sums = &free}));
    }
    table.AddRule();
    table.Add(Cells({.name = "total",
                     .sums = &report_.totals,
                     .kernel_flops = report_.totals.flops,
                     .doubt = report_.certainty.doubt}));
    // With a device, rows of kernels answer where the time goes.
    table.MayDrop(detail && timed_ ? std::vector<std::string>{"", "FLOP/B", "FLOPs", "MACs",
                                                              "bytes", "share", "limited by"}
                  : timed_ ? std::vector<std::string>{"", "FLOP/B", "nodes", "MACs", "FLOPs",
                                                      "share", "limited by"}
                           : std::vector<std::string>{"FLOP/B", "FLOPs", "nodes"});
    if (options_.by == GroupBy::kKernel || options_.by == GroupBy::kStory) {
      table.MayStandBelow(head[1]);
    }
    if (!options_.columns.empty()) table.Keep(options_.columns);
    return table.Fit(options_.max_width, "--columns all shows them");
  }

  std::vector<std::string> Cells(const ReportRow& row) {
    const Sums& sums = *row.sums;
    const Doubt& doubt = row.doubt;
    std::vector<std::string> cells = {Printable(row.name)};
    cells.push_back(IsDetail(options_.by) ? row.detail : std::to_string(sums.nodes));
    const auto number = [&](bool none, const auto& text, Standing standing) {
      cells.push_back(Marked(standing, none ? "-" : text()));
    };
    number(
        sums.macs == Macs(), [&] { return Readable(sums.macs.AsDouble()); }, MacsStanding(doubt));
    number(
        sums.flops == Flops(), [&] { return Readable(sums.flops.AsDouble()); },
        FlopsStanding(doubt));
    number(
        sums.bytes() == Bytes(), [&] { return ReadableBytes(sums.bytes()); }, BytesStanding(doubt));
    cells.push_back(IntensityText(row));
    if (timed_) {
      // Shares are of the expected time, where there is one.
      const Seconds time = report_.totals.expected ? sums.expected.value_or(Seconds()) : sums.bound;
      const Seconds whole = report_.totals.expected.value_or(report_.totals.bound);
      cells.push_back(Marked(BoundStanding(doubt), ReadableTime(sums.bound)));
      if (report_.totals.expected) {
        cells.push_back(Marked(ExpectedStanding(doubt), ReadableTime(time)));
      }
      const double share = whole.value() > 0 ? time / whole : 0;
      cells.push_back(whole.value() > 0 ? Percent(share) : "-");
      if (options_.blocks) {
        const bool is_total = row.sums == &report_.totals;
        cells.push_back(is_total ? "" : ShareBar(share, kBarColumns));
      }
      cells.push_back(time.value() > 0 ? row.limiter : "");
    }
    return cells;
  }

  void Attention(const AttentionShare& share) {
    const double all = share.scores.AsDouble() + share.products.AsDouble();
    Line("attention", "{} of all MACs look from {} to {} positions ({}); half of them at {:.0f}",
         Percent(share.scores.AsDouble() / all), share.q_len, share.kv_len, Name(share.phase),
         share.Crossover());
  }

  void Footer() {
    Line(
        "memory", "peak activations {}, weights {}{}",
        Marked(PeakStanding(report_.certainty.doubt), ReadableBytes(report_.peak_activation_bytes)),
        ReadableBytes(report_.model.weight_bytes), CapacityText(report_));
    if (report_.attention) Attention(*report_.attention);
    std::vector<std::string> coverage;
    for (const auto& [status, nodes] : report_.coverage) {
      coverage.push_back(fmt::format("{} {}", nodes, Name(status)));
    }
    Line("coverage", "{} nodes: {}", report_.model.nodes, fmt::join(coverage, ", "));
    if (report_.coverage.count(NodeStatus::kUnknown) != 0) {
      Line("", "totals leave the unknown nodes out");
    }
    constexpr std::size_t kMostUnknown = 10;
    for (std::size_t i = 0; i < report_.unknown.size() && i < kMostUnknown; ++i) {
      const UnknownRow& row = report_.unknown[i];
      Line("unknown", "{} ({}): {}", Printable(row.node), Printable(row.op), row.why);
    }
    if (report_.unknown.size() > kMostUnknown) {
      Line("unknown", "... {} more; --format json lists all",
           report_.unknown.size() - kMostUnknown);
    }
    for (const std::string& merge : MergeTexts(report_.merges)) Line("merge", "{}", merge);
    for (const std::string& note : report_.notes) Line("note", "{}", note);
  }

  const Report& report_;
  const TextOptions& options_;
  bool timed_;
  std::string out_;
};

}  // namespace

std::string RenderText(const Report& report, const TextOptions& options) {
  return TextRenderer(report, options).Run();
}

}  // namespace dlcost
