#include "dlcost/report.h"

#include <deque>

#include "estimator/api/state.h"
#include "estimator/core/spelling.h"
#include "estimator/infer/infer.h"
#include "estimator/onnx/writer.h"
#include "estimator/picture/pictures.h"
#include "estimator/regress/page.h"
#include "estimator/regress/report_reader.h"
#include "estimator/report/comparison.h"
#include "estimator/report/kernel_views.h"
#include "estimator/report/plot.h"
#include "estimator/report/render.h"
#include "estimator/report/viewers.h"
#include "estimator/request/annotated_model.h"
#include "estimator/request/known_device.h"
#include "estimator/request/memory_fit.h"
#include "estimator/request/source.h"
#include "estimator/training/step.h"

namespace dlcost::api {
namespace {

std::vector<Group> GroupsOf(const std::vector<GroupRow>& rows, bool timed) {
  std::vector<Group> groups;
  for (const GroupRow& row : rows) {
    groups.push_back({.name = row.name,
                      .cost = CostOf(row.sums, timed),
                      .kernel_flops = row.kernel_flops.value(),
                      .limited_by = timed ? row.LimitedBy() : ""});
  }
  return groups;
}

std::vector<Operand> OperandsOf(const Operands& operands) {
  std::vector<Operand> out;
  for (const dlcost::Operand& operand : operands) {
    Operand& added = out.emplace_back();
    added.name = operand.name;
    added.dtype = dlcost::Name(operand.dtype);
    if (operand.shape) added.shape = operand.shape->dims();
  }
  return out;
}

GroupBy GroupByOf(const dlcost::Report& report, const std::string& by) {
  RequireOneOf("by", by, {"op", "scope", "phase", "story", "layer", "node", "kernel"});
  if (by == "phase" && report.step == nullptr) {
    throw dlcost::Error("rows by phase are those of a training step: set Options::optimizer");
  }
  return by == "op"      ? GroupBy::kOp
         : by == "scope" ? GroupBy::kScope
         : by == "phase" ? GroupBy::kPhase
         : by == "story" ? GroupBy::kStory
         : by == "layer" ? GroupBy::kLayer
         : by == "node"  ? GroupBy::kNode
                         : GroupBy::kKernel;
}

}  // namespace

std::optional<double> Cost::intensity() const {
  if (bytes() == 0) return std::nullopt;
  return static_cast<double>(flops) / static_cast<double>(bytes());
}

Cost CostOf(const Sums& sums, bool timed) {
  Cost cost;
  cost.nodes = sums.nodes;
  cost.macs = sums.macs.value();
  cost.flops = sums.flops.value();
  cost.bytes_read = sums.bytes_read.value();
  cost.bytes_written = sums.bytes_written.value();
  if (timed) cost.bound_s = sums.bound.value();
  if (timed && sums.expected) cost.expected_s = sums.expected->value();
  return cost;
}

Report::Report(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Report Report::Read(const std::string& path) {
  return Guarded([&] {
    return Report(std::make_shared<const State>(State{ReadReport(path), {}}));
  });
}

Report Report::FromJson(const std::string& json, const std::string& name) {
  return Guarded([&] {
    return Report(std::make_shared<const State>(State{ReadReportFromText(json, name), {}}));
  });
}

std::string Report::model_path() const { return state_->report.model.path; }
std::string Report::device_id() const {
  return state_->report.device ? state_->report.device->id : "";
}
Cost Report::totals() const {
  return CostOf(state_->report.totals, state_->report.device.has_value());
}
std::map<std::string, std::int64_t> Report::dims() const { return state_->report.model.dims; }
std::int64_t Report::parameters() const { return state_->report.model.parameters.value(); }
std::int64_t Report::weight_bytes() const { return state_->report.model.weight_bytes.value(); }
std::int64_t Report::peak_activation_bytes() const {
  return state_->report.peak_activation_bytes.value();
}
std::int64_t Report::needed_bytes() const {
  return Guarded([&] { return state_->report.needed().value(); });
}
std::optional<bool> Report::fits() const { return state_->report.fits(); }
bool Report::exact() const { return state_->report.certainty.Exact(); }
std::vector<std::string> Report::notes() const { return state_->report.notes; }

std::vector<Group> Report::by_op() const {
  return GroupsOf(state_->report.by_op, state_->report.device.has_value());
}
std::vector<Group> Report::by_scope() const {
  return GroupsOf(state_->report.by_scope, state_->report.device.has_value());
}
std::vector<Group> Report::by_phase() const {
  return GroupsOf(state_->report.by_phase, state_->report.device.has_value());
}

std::vector<Kernel> Report::kernels() const {
  const dlcost::Report& report = state_->report;
  const bool timed = report.device.has_value();
  std::vector<Kernel> kernels;
  for (const KernelRow& row : report.kernels) {
    kernels.push_back({.id = row.id,
                       .op = row.op,
                       .algorithm = row.algorithm,
                       .node = report.nodes.at(row.main).name,
                       .nodes = row.nodes,
                       .cost = CostOf(row.sums, timed),
                       .executed_flops = row.executed.value(),
                       .launches = row.launches.value(),
                       .limited_by = timed ? row.LimitedBy() : ""});
  }
  return kernels;
}

std::vector<Node> Report::nodes() const {
  const bool timed = state_->report.device.has_value();
  std::vector<Node> nodes;
  for (const NodeRow& row : state_->report.nodes) {
    nodes.push_back({.name = row.name,
                     .op = row.op,
                     .domain = row.domain,
                     .scope = row.scope,
                     .kernel = row.kernel,
                     .status = std::string(dlcost::Name(row.status)),
                     .inputs = OperandsOf(row.inputs),
                     .outputs = OperandsOf(row.outputs),
                     .cost = CostOf(row.sums, timed),
                     .parameters = row.parameters.value(),
                     .weight_bytes = row.weight_bytes.value(),
                     .repeat = row.repeat.value(),
                     .upper_bound = row.upper_bound,
                     .assumed = row.assumed});
  }
  return nodes;
}

std::vector<Unknown> Report::unknown() const {
  std::vector<Unknown> unknown;
  for (const UnknownRow& row : state_->report.unknown) {
    unknown.push_back({row.node, row.op, row.domain, row.why});
  }
  return unknown;
}

std::string Report::Text(const std::string& by, std::size_t top,
                         const std::vector<std::string>& columns, bool plot) const {
  return Guarded([&] {
    const TextOptions look{.by = GroupByOf(state_->report, by), .top = top, .columns = columns};
    std::string text = RenderText(state_->report, look);
    if (!plot) return text;
    const std::string drawn = RenderPlot(state_->report, {});
    if (drawn.empty()) throw dlcost::Error("a plot needs a device and a model with arithmetic");
    return text + "\n" + drawn;
  });
}
bool Report::IsReportFile(const std::string& path) {
  return Guarded([&] { return dlcost::IsReportFile(path); });
}
std::string Report::View(const std::string& view, const std::string& node) const {
  return Guarded([&] {
    RequireOneOf("view", view, {"gemm", "work"});
    if (view == "work") return RenderWorkView(state_->report, node);
    if (!node.empty()) throw dlcost::Error("a node is for the view of work");
    return RenderGemmView(state_->report);
  });
}
std::string Report::Perfetto() const {
  return Guarded([&] { return RenderPerfetto(state_->report); });
}
std::string Report::Speedscope() const {
  return Guarded([&] { return RenderSpeedscope(state_->report); });
}
std::string Report::AnnotatedModel() const {
  return Guarded([&] {
    if (!state_->model) {
      throw dlcost::Error(
          "{}: costs are written into a copy of the model's file: count the file itself",
          Printable(state_->report.model.path));
    }
    std::string bytes;
    WriteAnnotatedModel(*state_->model, state_->report,
                        [&](std::string_view piece) { bytes += piece; });
    return bytes;
  });
}
std::string Report::Json() const {
  return Guarded([&] { return RenderJson(state_->report); });
}
std::string Report::Csv(const std::string& by, std::size_t top) const {
  return Guarded([&] { return RenderCsv(state_->report, GroupByOf(state_->report, by), top); });
}
std::string Report::Markdown(const std::string& by, std::size_t top) const {
  return Guarded([&] {
    if (by == "layer") throw dlcost::Error("rows by layer are for text and csv; by scope would do");
    return RenderMarkdown(state_->report, GroupByOf(state_->report, by), top);
  });
}
std::optional<dlcost::Device> Report::State::DeviceForPage() const {
  return device ? device : KnownDevice(report);
}

std::string Report::Html(const std::string& title) const { return Page({*this}, title); }

std::string Report::Svg(const std::string& picture, bool dark, const std::string& title) const {
  return Guarded([&] {
    RequireOneOf("picture", picture, {"roofline", "memory", "icicle"});
    const PictureOptions look = {.title = title, .dark = dark};
    return picture == "roofline" ? RooflinePicture(state_->report, look)
           : picture == "memory" ? MemoryPicture(state_->report, look)
                                 : IciclePicture(state_->report, look);
  });
}

std::string Page(const std::vector<Report>& reports, const std::string& title) {
  return Guarded([&] {
    if (reports.empty()) throw dlcost::Error("a page of no report");
    std::deque<dlcost::Report> shown;  // the page points into both
    std::deque<std::optional<dlcost::Device>> devices;
    std::vector<HtmlReport> page;
    for (const Report& report : reports) {
      const dlcost::Report& one = shown.emplace_back(report.state().ForPage());
      const auto& device = devices.emplace_back(report.state().DeviceForPage());
      page.push_back({&one, device ? &*device : nullptr});
    }
    return PageOf(std::move(page), title);
  });
}

Report Count(const Model& model, const std::optional<Device>& device, const Bindings& bindings,
             const Options& options) {
  return Guarded([&] {
    auto state = std::make_shared<Report::State>();
    if (device) state->device = device->state().device;
    ModelOptions model_options = ModelOptionsOf(model, bindings, options);
    ReportOptions report_options =
        ReportOptionsOf(options, model_options, state->device ? &*state->device : nullptr);
    model_options.plan = report_options.plan;
    const std::vector<std::string> found = ResolveFit(model_options, state->device, report_options);
    // `model` lasts as long as the report, for a page.
    const auto count = [model, model_options, found, on = state->device](const ReportOptions& as) {
      InferredModel inferred = InferModel(model_options);
      inferred.notes.insert(inferred.notes.begin(), found.begin(), found.end());
      return BuildReport(inferred, on, as);
    };
    state->report = count(report_options);
    report_options.detail = ReportDetail::kSteps;
    state->for_page = [count, report_options] { return count(report_options); };
    model_options.read = nullptr;
    if (model.state().from_file) state->model = std::move(model_options);
    return Report(std::move(state));
  });
}

struct DeviceRanking::State {
  DeviceComparison comparison;
};

DeviceRanking::DeviceRanking(std::shared_ptr<const State> state) : state_(std::move(state)) {}

std::string DeviceRanking::Text() const {
  return Guarded([&] { return ComparisonText(state_->comparison); });
}
std::string DeviceRanking::Json() const {
  return Guarded([&] { return ComparisonJson(state_->comparison); });
}
std::string DeviceRanking::Csv() const {
  return Guarded([&] { return ComparisonCsv(state_->comparison); });
}

DeviceRanking CompareDevices(const Model& model, const std::vector<Device>& devices,
                             const Bindings& bindings, const Options& options, bool ranked,
                             std::size_t top) {
  return Guarded([&] {
    if (devices.empty()) throw dlcost::Error("which devices? --gpu a100,h100 or all");
    ServedDevices served{.devices = DevicesOf(devices), .left_out = ""};
    const CountOptions count = CountOptionsOf(options);
    if (ranked) served = ServedOf(std::move(served.devices), count);
    ModelOptions asked = ModelOptionsOf(model, bindings, options);
    ReportOptions report = ReportOptionsOf(options, asked, &served.devices.front());
    for (const dlcost::Device& device : served.devices) RequireRunsOn(RuntimeOf(count), device);
    report.detail = ReportDetail::kOperators;
    asked.plan = report.plan;
    InferredModel inferred = InferModel(asked);
    if (!served.left_out.empty()) inferred.notes.push_back(served.left_out);
    return DeviceRanking(std::make_shared<const DeviceRanking::State>(DeviceRanking::State{
        dlcost::CompareDevices(inferred, served.devices, report, ranked, top)}));
  });
}

std::string TrainingStep(const Model& model, const Bindings& bindings, const Options& options) {
  return Guarded([&] {
    ModelOptions model_options = ModelOptionsOf(model, bindings, options);
    // As ONNX has it, unless a form is asked for.
    model_options.plan = {.fusion = Fusion::kDefault, .attention = AttentionForm::kMaterialized};
    if (!options.attention.empty()) {
      model_options.plan = ReportOptionsOf(options, model_options, nullptr).plan;
    }
    const dlcost::TrainingStep step = BuildTrainingStep(model_options);
    return WriteModel(step.model, step.inputs);
  });
}

}  // namespace dlcost::api
