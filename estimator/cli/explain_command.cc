#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/report/format.h"
#include "estimator/roofline/expected.h"

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

class Explainer {
 public:
  Explainer(const Options& options, const Device& device, const InferredModel& model)
      : report_(ReportOptionsOf(options.count, options.device)),
        device_(device),
        timing_(MakeTimingDevice(device)),
        model_(model) {
    PlanOptions plan = report_.plan;
    plan.device = &device_;
    plan.math = report_.bound.math;
    plan_ = MakePlan(model, plan);
  }

  // The kernel of `node` ("": the one that takes longest) as "text" or "json".
  std::string Run(const std::string& node, const std::string& format) const {
    const Kernel& kernel = node.empty() ? Longest() : Of(node);
    const Bound bound = BoundKernel(kernel, device_, report_.bound);
    const std::optional<Expected> expected = Expect(kernel, bound, /*explain=*/true);
    if (!expected) {
      throw Error("{}: there is no expected time: {}", Printable(NameOf(kernel)),
                  kernel.launches == Count(0) ? "nothing is launched"
                                              : "its type has no rate on this device");
    }
    return format == "json" ? JsonText(kernel, bound, *expected) : Text(kernel, bound, *expected);
  }

 private:
  std::optional<Expected> Expect(const Kernel& kernel, const Bound& bound,
                                 bool explain = false) const {
    return ExpectedKernel(kernel, device_, timing_, bound,
                          {.math = report_.bound.math,
                           .cache = report_.bound.cache,
                           .eager = report_.eager,
                           .explain = explain});
  }

  const std::string& NameOf(const Kernel& kernel) const { return model_.nodes[kernel.main].name; }

  const Kernel& Longest() const {
    const Kernel* longest = nullptr;
    double most = 0;
    for (const Kernel& kernel : plan_.kernels) {
      const auto expected = Expect(kernel, BoundKernel(kernel, device_, report_.bound));
      if (expected && expected->time.expected > most) {
        most = expected->time.expected;
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
      names.push_back(model_.nodes[n].name);
    }
    throw Error("--node: the model has no node '{}'{}", Printable(name), DidYouMean(name, names));
  }

  std::string Text(const Kernel& kernel, const Bound& bound, const Expected& expected) const {
    std::string out = fmt::format("{} on {}\n", Printable(NameOf(kernel)), device_.name);
    const std::string nodes =
        kernel.nodes.size() == 1 ? std::string() : fmt::format(", {} nodes", kernel.nodes.size());
    out += fmt::format("kernel {}{}{}\n\n", kernel.id,
                       kernel.algorithm.empty() ? "" : ": " + kernel.algorithm, nodes);
    std::size_t what = 0, value = 0;
    for (const TimeStep& step : expected.steps) {
      what = std::max(what, step.what.size());
      value = std::max(value, step.value.size());
    }
    for (const TimeStep& step : expected.steps) {
      std::string line =
          fmt::format("  {:<{}}  {:<{}}  {}", step.what, what, step.value, value, step.reason);
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    out += fmt::format("\n  limited by {}; ", expected.limiter);
    if (kernel.upper_bound) {
      out += fmt::format(
          "its counts are upper bounds: all of it would take {} ({}), and what runs "
          "may take less, so that it has no bound\n",
          ReadableTime(bound.time), bound.limiter);
    } else {
      out += fmt::format("the bound is {} ({})\n", ReadableTime(bound.time), bound.limiter);
    }
    if (kernel.assumed) out += "  its counts rest on an assumption: these times do, too\n";
    if (device_.calibrated_on.empty()) {
      out +=
          fmt::format("  no row of this architecture was measured: the constants are those of {}\n",
                      device_.timing_neighbours.empty() ? "all architectures"
                                                        : device_.timing_neighbours.front());
    }
    for (const std::string& advice : expected.advice) out += "  - " + advice + "\n";
    return out;
  }

  // docs/schema/explain.schema.json
  std::string JsonText(const Kernel& kernel, const Bound& bound, const Expected& expected) const {
    using Json = nlohmann::ordered_json;
    Json nodes = Json::array(), steps = Json::array();
    for (const std::size_t n : kernel.nodes) nodes.push_back(model_.nodes[n].name);
    for (const TimeStep& step : expected.steps) {
      steps.push_back({{"what", step.what}, {"value", step.value}, {"reason", step.reason}});
    }
    const Json json = {{"schema", "dlcost.explain/1"},
                       {"model", model_.model->path},
                       {"device", device_.id},
                       {"node", NameOf(kernel)},
                       {"kernel", kernel.id},
                       {"nodes", nodes},
                       {"algorithm", kernel.algorithm},
                       {"steps", steps},
                       {"expected_s", expected.time.expected},
                       {"expected_low_s", expected.time.low},
                       {"expected_high_s", expected.time.high},
                       {"limited_by", expected.limiter},
                       {"bound_s", bound.time.value()},
                       {"bound_limited_by", bound.limiter},
                       {"bound_holds", !kernel.upper_bound && !kernel.assumed},
                       {"measured_on", device_.calibrated_on},
                       {"advice", expected.advice}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }

  ReportOptions report_;
  const Device& device_;
  TimingDevice timing_;
  const InferredModel& model_;
  Plan plan_;
};

int Run(const Options& options) {
  RequireOneOf("--format", options.format, {"text", "json"});
  const std::optional<Device> device = FindDevice(options.device);
  if (!device) throw Error("explain needs a device: --gpu a100 (dlcost gpus lists them)");
  const InferredModel model = InferModel(options.model);
  WriteOutput(options.output, Explainer(options, *device, model).Run(options.node, options.format));
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
  app->callback([&commands, options] { commands.run = [options] { return Run(*options); }; });
}

}  // namespace dlcost
