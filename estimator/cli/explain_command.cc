#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "estimator/cli/applies.h"
#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/report/format.h"
#include "estimator/report/kernel_views.h"
#include "estimator/report/run_options.h"
#include "estimator/report/runtime_text.h"
#include "estimator/report/term_text.h"
#include "estimator/report/wrap.h"
#include "estimator/request/memory_fit.h"
#include "estimator/roofline/forced.h"
#include "estimator/roofline/run.h"

namespace dlcost {
namespace {

struct Options {
  ModelOptions model;
  DeviceOptions device;
  CountOptions count;
  std::string node, output;
  std::string format = "text";
};

constexpr const char* kExamples =
    "Examples:\n"
    "  dlcost explain bert.onnx --gpu a100 --node /encoder/layer.0/attention/self/MatMul\n"
    "  dlcost explain resnet50.onnx --gpu v100-pcie-32gb --batch 8\n"
    "  dlcost explain resnet50.onnx --gpu a100 --format json\n"
    "Without --node: the kernel that takes longest.\n";

RunOptions Explained(const ReportOptions& options) {
  RunOptions run = RunOptionsOf(options);
  run.explain = true;
  return run;
}

class Explainer {
 public:
  Explainer(const Options& options, const Device& device, const InferredModel& model)
      : report_(ReportOptionsOf(options.count, options.device, options.model)),
        width_(WidthOf(options.output)),
        device_(device),
        runner_(&device_, Explained(report_)),
        model_(model),
        plan_(MakePlan(model, report_.plan)) {}

  // The kernel of `node` ("": the one that takes longest) as "text" or "json".
  std::string Run(const std::string& node, const std::string& format) const {
    RequireForced();
    const Kernel& kernel = node.empty() ? Longest() : Of(node);
    const KernelRun run = runner_.Run(kernel);
    if (!run.expected) {
      throw Error("{}: there is no expected time: {}", Printable(NameOf(kernel)),
                  kernel.repeat == Count(0) ? "nothing is launched"
                                            : "its type has no rate on this device");
    }
    return format == "json" ? JsonText(kernel, run) : Text(kernel, run);
  }

 private:
  void RequireForced() const {
    if (!report_.run.conv && !report_.plan.attention) return;
    ForcedChoices forced(&device_, report_.run, report_.plan);
    for (const Kernel& kernel : plan_.kernels) forced.Add(kernel, runner_.Run(kernel));
    forced.Require(model_);
  }

  const std::string& NameOf(const Kernel& kernel) const { return model_.nodes[kernel.main].name; }

  const Kernel& Longest() const {
    const Kernel* longest = nullptr;
    double most = 0;
    for (const Kernel& kernel : plan_.kernels) {
      const KernelRun run = runner_.Run(kernel);
      if (run.expected && run.expected->time.expected > most) {
        most = run.expected->time.expected;
        longest = &kernel;
      }
    }
    if (longest == nullptr) throw Error("no kernel of this model has an expected time");
    return *longest;
  }

  const Kernel& Of(const std::string& name) const {
    std::vector<std::string> names;
    for (std::size_t n = 0; n < model_.nodes.size(); ++n) {
      if (model_.nodes[n].name == name) return plan_.kernels[plan_.kernel_of[n]];
      if (plan_.kernels[plan_.kernel_of[n]].repeat != Count(0)) {
        names.push_back(model_.nodes[n].name);  // of those that run: there is something to explain
      }
    }
    throw Error("--node: the model has no node '{}'{}", Printable(name), DidYouMean(name, names));
  }

  std::string Text(const Kernel& kernel, const KernelRun& run) const {
    const Expected& expected = *run.expected;
    std::string out = fmt::format("{} on {}\n", Printable(NameOf(kernel)), device_.name);
    const std::string nodes =
        kernel.nodes.size() == 1 ? std::string() : fmt::format(", {} nodes", kernel.nodes.size());
    out += fmt::format("kernel {}: {}{}\n", kernel.id, run.algorithm, nodes);
    out += fmt::format("runtime {}\n\n", RuntimeText(report_));
    std::size_t what = 0, value = 0;
    for (const TimeTerm& term : expected.terms) {
      what = std::max(what, term.what.size() + 2 * static_cast<std::size_t>(term.level));
      value = std::max(value, TermText(term).size());
    }
    for (const TimeTerm& term : expected.terms) {
      const std::string indent(2 * static_cast<std::size_t>(term.level), ' ');
      std::string line =
          fmt::format("  {:<{}}  {:>{}}", indent + term.what, what, TermText(term), value);
      out += WithReason(std::move(line), term) + "\n";
    }
    out += fmt::format("\n  four of five measurements lie between {} and {}\n",
                       ReadableTime(Seconds(expected.time.low)),
                       ReadableTime(Seconds(expected.time.high)));
    out += fmt::format("  limited by {}; ", expected.limiter);
    if (kernel.upper_bound) {
      out += fmt::format(
          "its counts are upper bounds: all of it would take {} ({}), and what runs "
          "may take less, so that it has no bound\n",
          ReadableTime(run.bound.time), run.bound.limiter);
    } else {
      out += fmt::format("the bound is {} ({})\n", ReadableTime(run.bound.time), run.bound.limiter);
    }
    if (kernel.assumed) out += "  its counts rest on an assumption: these times do, too\n";
    if (device_.systolic || device_.cores) {
      out += "  no kernel of this machine was measured: its constants are assumed\n";
    } else if (device_.calibrated_on.empty()) {
      out +=
          fmt::format("  no row of this architecture was measured: the constants are those of {}\n",
                      device_.timing_neighbours.empty() ? "all architectures"
                                                        : device_.timing_neighbours.front());
    }
    for (const std::string& advice : expected.advice) out += "  - " + advice + "\n";
    return out;
  }

  // The reason stands beside the term where there is room for it, else below.
  std::string WithReason(std::string line, const TimeTerm& term) const {
    if (term.reason.empty()) return line;
    constexpr std::size_t kLeast = 24, kGap = 2;  // columns that are worth a text beside it
    const std::size_t beside = line.size() + kGap;
    if (width_ == 0 || beside + term.reason.size() <= width_ || width_ >= beside + kLeast) {
      return Wrap(line + std::string(kGap, ' ') + term.reason, width_, beside);
    }
    const std::size_t below = 6 + 2 * static_cast<std::size_t>(term.level);
    return line + "\n" + Wrap(std::string(below, ' ') + term.reason, width_, below);
  }

  // docs/schema/explain.schema.json
  std::string JsonText(const Kernel& kernel, const KernelRun& run) const {
    using Json = nlohmann::ordered_json;
    const Expected& expected = *run.expected;
    Json nodes = Json::array(), terms = Json::array();
    for (const std::size_t n : kernel.nodes) nodes.push_back(model_.nodes[n].name);
    for (const TimeTerm& term : expected.terms) {
      Json each = {{"level", term.level}, {"what", term.what}};
      if (term.text.empty()) {
        each["value"] = term.value;
        each["unit"] = term.unit;
      } else {
        each["text"] = term.text;
      }
      if (term.combine != Combine::kNone) each["combine"] = std::string(Name(term.combine));
      if (term.factor != 0) each["factor"] = term.factor;
      if (!term.reason.empty()) each["reason"] = term.reason;
      terms.push_back(std::move(each));
    }
    Bytes moved = kernel.bytes();
    Json tile;
    if (run.execution != nullptr) {
      moved += run.execution->ExtraRead() + run.execution->ExtraWritten();
      if (const TileGrid* grid = run.execution->Grid()) tile = TileText(*grid);
    }
    const Json json = {{"schema", "dlcost.explain/2"},
                       {"model", model_.model->path},
                       {"device", device_.id},
                       {"runtime", report_.runtime},
                       {"runtime_given", report_.runtime_given},
                       {"node", NameOf(kernel)},
                       {"kernel", kernel.id},
                       {"nodes", nodes},
                       {"algorithm", run.algorithm},
                       {"tile", tile},
                       {"launches", run.launches.value()},
                       {"bytes", kernel.bytes().value()},
                       {"executed_bytes", moved.value()},
                       {"terms", terms},
                       {"expected_s", expected.time.expected},
                       {"expected_low_s", expected.time.low},
                       {"expected_high_s", expected.time.high},
                       {"limited_by", expected.limiter},
                       {"bound_s", run.bound.time.value()},
                       {"bound_limited_by", run.bound.limiter},
                       {"bound_holds", !kernel.upper_bound && !kernel.assumed},
                       {"measured_on", device_.calibrated_on},
                       {"timing_basis", std::string(Name(expected.basis))},
                       {"advice", expected.advice}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }

  ReportOptions report_;
  const std::size_t width_;  // of the terminal; 0: any
  const Device& device_;
  Runner runner_;
  const InferredModel& model_;
  Plan plan_;
};

int Run(Options options, const Applicability& applies) {
  RequireOneOf("--format", options.format, {"text", "json"});
  applies.Require(options.count.convention != CountOptions().convention, "--convention",
                  "here: times do not depend on what counts as a FLOP", {"--convention"});
  const std::optional<Device> device = FindDevice(options.device);
  if (!device) throw Error("explain needs a device: --gpu a100 (dlcost gpus lists them)");
  const ReportOptions report = ReportOptionsOf(options.count, options.device, options.model);
  options.model.plan = report.plan;
  ResolveFit(options.model, device, report);
  const InferredModel model = InferModel(options.model);
  WriteRendered(options.output, options.format,
                Explainer(options, *device, model).Run(options.node, options.format));
  return 0;
}

}  // namespace

void AddExplainCommand(Commands& commands) {
  CLI::App* app =
      commands.app.add_subcommand("explain", "the expected time of one kernel, step by step");
  app->footer(kExamples);
  auto options = std::make_shared<Options>();
  AddModelOptions(*app, options->model);
  AddDeviceOptions(*app, options->device);
  AddCountOptions(*app, options->count);
  app->add_option("--node", options->node, "a node of the kernel; the longest kernel if none")
      ->type_name("NAME");
  app->add_option("--format", options->format, "text or json")
      ->type_name("FORMAT")
      ->capture_default_str();
  app->add_option("-o,--output", options->output, "file to write; standard output if none");
  app->callback([&commands, options] {
    commands.run = [&commands, options] { return Run(*options, Applicability(commands.words)); };
  });
}

}  // namespace dlcost
