#include "estimator/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "estimator/report/certainty_text.h"
#include "estimator/report/kernel_views.h"
#include "estimator/report/merges.h"
#include "estimator/report/page_json.h"
#include "estimator/report/render.h"
#include "estimator/report/runtime_text.h"
#include "estimator/report/term_text.h"
#include "estimator/report/text_table.h"

namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

class PageReport {
 public:
  explicit PageReport(const HtmlReport& page) : page_(page), report_(*page.report) {
    for (const NodeRow& node : report_.nodes) nodes_[node.name] = &node;
  }

  Json Run() {
    Json json = {{"title", Title()},
                 {"subtitle", Subtitle()},
                 {"model", Model()},
                 {"on", report_.device ? report_.device->name : "no device"},
                 {"sizes", Sizes()},
                 {"notes", Notes()},
                 {"certainty", CertaintyJson()},
                 {"totals", Totals()},
                 {"marks", Marks()},
                 {"roofs", Roofs()},
                 {"device", DeviceFactsJson(page_.device)},
                 {"kernel_table", Kernels()},
                 {"memory", Memory()},
                 {"unknown", Unknown()},
                 {"changes", Changes()}};
    json["strings"] = strings_.texts();
    return json;
  }

 private:
  std::string Model() const { return FileName(report_.model.path); }
  std::string Title() const {
    return report_.device ? Model() + " on " + report_.device->name : Model();
  }

  // "batch=1, sequence=128".
  std::string Sizes() const {
    std::string text;
    for (const auto& [name, size] : report_.model.dims) {
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, size);
    }
    return text;
  }

  std::vector<std::string> Notes() const {
    std::vector<std::string> notes = StepLines(report_);
    if (!notes.empty()) notes.front() = "A training step: " + notes.front();
    notes.insert(notes.end(), report_.notes.begin(), report_.notes.end());
    for (const std::string& merge : MergeTexts(report_.merges))
      notes.push_back("These would run as one: " + merge);
    const auto has = [&](auto member) {
      return std::any_of(page_.measured.begin(), page_.measured.end(),
                         [&](const KernelMeasurement& one) { return (one.*member).has_value(); });
    };
    if (!page_.measured.empty() && !has(&KernelMeasurement::time)) {
      notes.push_back(
          has(&KernelMeasurement::flops) || has(&KernelMeasurement::bytes)
              ? "The profile has counters and no times: the table of kernels shows what "
                "was executed and moved; --trace FILE adds the times of another run."
              : "The profile tells neither times nor FLOPs nor bytes of these kernels.");
    }
    return notes;
  }

  std::string Subtitle() const {
    std::string text = Sizes();
    text += text.empty() ? "" : ", ";
    text += fmt::format("runtime {}, cache {}", RuntimeText(report_.options),
                        Name(report_.options.run.cache));
    text += fmt::format("; {} nodes:", report_.model.nodes);
    for (const auto& [status, nodes] : report_.coverage) {
      text += fmt::format(" {} {}{}", nodes, Name(status),
                          &status == &report_.coverage.rbegin()->first ? "" : ",");
    }
    return text;
  }

  Json Totals() const {
    const Sums& totals = report_.totals;
    Json json = {{"macs", totals.macs.value()},
                 {"flops", totals.flops.value()},
                 {"bytes", totals.bytes().value()},
                 {"parameters", report_.model.parameters.value()},
                 {"weight_bytes", report_.model.weight_bytes.value()},
                 {"peak_activation_bytes", report_.peak_activation_bytes.value()},
                 {"needed_bytes", report_.needed().value()}};
    if (report_.device && report_.device->memory) {
      json["memory_bytes"] = report_.device->memory->value();
    }
    if (report_.device) json["bound_s"] = totals.bound.value();
    if (totals.expected) json["expected_s"] = totals.expected->value();
    Seconds measured;
    for (const KernelMeasurement& one : page_.measured) measured += one.time.value_or(Seconds());
    if (measured.value() > 0) json["measured_s"] = measured.value();
    return json;
  }

  Json CertaintyJson() const {
    Json lines = Json::array();
    for (const CertaintyLine& line : CertaintyLines(report_.certainty, report_.totals)) {
      lines.push_back({{"label", line.label}, {"text", line.text}});
    }
    return lines;
  }

  // What stands in front of a total, by the total's name.
  Json Marks() const {
    const Doubt& doubt = report_.certainty.doubt;
    return {{"macs", Mark(MacsStanding(doubt))},
            {"flops", Mark(FlopsStanding(doubt))},
            {"bytes", Mark(BytesStanding(doubt))},
            {"peak_activation_bytes", Mark(PeakStanding(doubt))},
            {"needed_bytes", Mark(PeakStanding(doubt))},
            {"bound_s", Mark(BoundStanding(doubt))},
            {"expected_s", Mark(ExpectedStanding(doubt))}};
  }

  Json Roofs() const {
    return DeviceRoofsJson(page_.device, [&](const std::string& name) {
      if (!report_.device) return false;
      const auto& roofs = report_.device->roofs;
      return std::any_of(roofs.begin(), roofs.end(),
                         [&](const auto& roof) { return roof.name == name; });
    });
  }

  // "Conv+Add+Relu"; a long chain is cut.
  std::string Operators(const KernelRow& kernel) const {
    constexpr std::size_t kMost = 4;
    if (kernel.op == kAttentionRow) return kernel.op;
    std::string text;
    std::size_t count = 0;
    for (const std::string& name : kernel.nodes) {
      const auto found = nodes_.find(name);
      if (found == nodes_.end() || found->second->status == NodeStatus::kView) continue;
      if (++count > kMost) return text + "+...";
      text += (text.empty() ? "" : "+") + found->second->op;
    }
    return text.empty() ? kernel.op : text;
  }

  const NodeRow* MainNode(const KernelRow& kernel) const {
    return kernel.main < report_.nodes.size() ? &report_.nodes[kernel.main] : nullptr;
  }

  // What is other than in the first report of the page.
  Json Changes() const {
    if (page_.changes.headline.empty()) return {};
    return {{"headline", page_.changes.headline},
            {"sentences", page_.changes.sentences},
            {"more", page_.changes.more}};
  }

  // Appends time, FLOPs and bytes of the kernel to its row; null where none was measured.
  void AddMeasured(std::size_t kernel, Json& row) const {
    if (page_.measured.empty()) return;
    const KernelMeasurement& one = page_.measured[kernel];
    row.push_back(one.time ? Json(one.time->value()) : Json());
    row.push_back(one.flops ? Json(*one.flops) : Json());
    row.push_back(one.bytes ? Json(*one.bytes) : Json());
  }

  // Layers repeat: what kernels have in common is told once, as a kind.
  Json Kernels() {
    Json rows = Json::array(), kinds = Json::array();
    std::vector<const char*> columns;
    std::unordered_map<std::string, std::size_t> known;
    for (std::size_t k = 0; k < report_.kernels.size(); ++k) {
      const KernelRow& kernel = report_.kernels[k];
      if (kernel.launches == Count(0)) continue;
      const NodeRow* main = MainNode(kernel);
      const std::string label = main != nullptr ? main->name : kernel.id;
      Cells kind = KindOf(kernel);
      const auto [found, fresh] = known.emplace(kind.values.dump(), kinds.size());
      if (fresh) kinds.push_back(std::move(kind.values));
      if (columns.empty()) columns = std::move(kind.columns);
      Json row = {strings_.Number(label), ScopeIn(label, main != nullptr ? main->scope : ""),
                  found->second};
      AddMeasured(k, row);
      rows.push_back(std::move(row));
    }
    // A page without kernels has columns, too.
    if (columns.empty()) columns = KindOf(KernelRow()).columns;
    return {{"columns", columns}, {"kinds", kinds}, {"rows", rows}, {"steps", steps_}};
  }

  // A row of a table, each cell with the name of its column.
  struct Cells {
    std::vector<const char*> columns;
    Json values = Json::array();

    void Add(const char* column, Json value) {
      columns.push_back(column);
      values.push_back(std::move(value));
    }
  };

  // All of a kernel but its names and its measurement.
  Cells KindOf(const KernelRow& kernel) {
    const bool timed = report_.device.has_value();
    const TileGrid* grid = kernel.execution == nullptr ? nullptr : kernel.execution->Grid();
    Cells cells;
    cells.Add("ops", strings_.Number(Operators(kernel)));
    cells.Add("algorithm", strings_.Number(kernel.algorithm));
    cells.Add("tile", strings_.Number(grid == nullptr ? "" : TileText(*grid)));
    cells.Add("limiter", strings_.Number(kernel.LimitedBy()));
    cells.Add("bound_limiter", strings_.Number(kernel.limiter));
    cells.Add("launches", kernel.launches.value());
    cells.Add("macs", kernel.sums.macs.value());
    cells.Add("flops", kernel.sums.flops.value());
    cells.Add("least", kernel.least.value());
    cells.Add("executed", kernel.executed.value());
    cells.Add("bytes", kernel.sums.bytes().value());
    cells.Add("moved", kernel.executed_bytes().value());
    cells.Add("bound", timed ? Json(kernel.sums.bound.value()) : Json());
    cells.Add("expected", kernel.sums.expected ? Json(kernel.sums.expected->value()) : Json());
    cells.Add("certainty", strings_.Number(Word(kernel.doubt)));
    cells.Add("steps", Steps(kernel));
    return cells;
  }

  // The number of the kernel's steps; null without.
  Json Steps(const KernelRow& kernel) {
    if (kernel.steps == nullptr) return {};
    const auto [found, fresh] = steps_known_.emplace(kernel.steps.get(), steps_.size());
    if (fresh) {
      Json terms = Json::array();
      for (const TimeTerm& term : kernel.steps->terms) {
        terms.push_back({term.level, strings_.Number(term.what), strings_.Number(TermText(term)),
                         strings_.Number(term.reason)});
      }
      Json advice = Json::array();
      for (const std::string& text : kernel.steps->advice) advice.push_back(strings_.Number(text));
      steps_.push_back(Json::array({std::move(terms), std::move(advice)}));
    }
    return found->second;
  }

  // The number of a module path; -1 for the one that the node's name tells: "layer1/conv" of
  // "/layer1/conv/Relu".
  Json ScopeIn(const std::string& label, const std::string& scope) {
    const std::size_t slash = label.rfind('/');
    const bool told = slash != std::string::npos && slash > 0 && label[0] == '/' &&
                      label.compare(1, slash - 1, scope) == 0;
    return told ? Json(-1) : Json(strings_.Number(scope));
  }

  Json Memory() {
    Json names = Json::array(), bytes = Json::array(), live = Json::array();
    for (const MemoryStep& step : report_.memory) {
      names.push_back(strings_.Number(report_.nodes[step.node].name));
      bytes.push_back(step.live.value());
    }
    for (const LiveTensor& tensor : report_.live) {
      live.push_back(Json::array({strings_.Number(tensor.name), tensor.size.value(), tensor.from,
                                  tensor.to - tensor.from}));
    }
    return {{"names", names}, {"bytes", bytes}, {"live", live}};
  }

  Json Unknown() const {
    Json rows = Json::array();
    for (const UnknownRow& row : report_.unknown) {
      rows.push_back({{"node", row.node}, {"op", row.op}, {"why", row.why}});
    }
    return rows;
  }

  const HtmlReport& page_;
  const Report& report_;
  std::unordered_map<std::string, const NodeRow*> nodes_;
  TextTable strings_;  // of kernels and memory
  Json steps_ = Json::array();
  std::unordered_map<const TimeSteps*, std::size_t> steps_known_;
};

}  // namespace

std::string RenderHtml(const std::vector<HtmlReport>& reports, const std::string& title) {
  Json data = {{"title", title}, {"reports", Json::array()}};
  for (const HtmlReport& report : reports) data["reports"].push_back(PageReport(report).Run());
  return RenderPage(title, data);
}

}  // namespace dlcost
