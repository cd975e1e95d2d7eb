#include "estimator/report/explain.h"

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/report/kernel_views.h"
#include "estimator/report/run_options.h"
#include "estimator/report/runtime_text.h"
#include "estimator/roofline/forced.h"
#include "estimator/roofline/run.h"

namespace dlcost {
namespace {

RunOptions Explained(const ReportOptions& options, const InferredModel& model) {
  RunOptions run = RunOptionsOf(options, model);
  run.explain = true;
  return run;
}

class Explainer {
 public:
  Explainer(const InferredModel& model, const Device& device, const ReportOptions& report)
      : model_(model),
        device_(device),
        report_(report),
        runner_(&device, Explained(report, model)),
        plan_(MakePlan(model, report.plan)) {}

  Explanation Of(const std::string& node) const {
    RequireForced();
    const Kernel& kernel = node.empty() ? Longest() : KernelOf(node);
    const KernelRun run = runner_.Run(kernel);
    if (!run.expected) {
      throw Error("{}: there is no expected time: {}", Printable(NameOf(kernel)),
                  kernel.repeat == Count(0)     ? "nothing is launched"
                  : runner_.timing() == nullptr ? "the device's file gives no number of units"
                                                : "its type has no rate on this device");
    }
    return Of(kernel, run);
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

  const Kernel& KernelOf(const std::string& name) const {
    std::vector<std::string> names;
    for (std::size_t n = 0; n < model_.nodes.size(); ++n) {
      if (model_.nodes[n].name == name) return plan_.kernels[plan_.kernel_of[n]];
      if (plan_.kernels[plan_.kernel_of[n]].repeat != Count(0)) {
        names.push_back(model_.nodes[n].name);  // of those that run: there is something to explain
      }
    }
    throw Error("--node: the model has no node '{}'{}", Printable(name), DidYouMean(name, names));
  }

  Explanation Of(const Kernel& kernel, const KernelRun& run) const {
    const Expected& expected = *run.expected;
    Explanation explained;
    explained.model = model_.model->path;
    explained.device = device_.id;
    explained.device_name = device_.name;
    explained.runtime = report_.runtime;
    explained.runtime_text = RuntimeText(report_);
    explained.runtime_given = report_.runtime_given;
    explained.node = NameOf(kernel);
    explained.kernel = kernel.id;
    for (const std::size_t n : kernel.nodes) explained.nodes.push_back(model_.nodes[n].name);
    explained.algorithm = run.algorithm;
    explained.launches = run.launches;
    explained.bytes = explained.executed_bytes = kernel.bytes();
    if (run.execution != nullptr) {
      explained.executed_bytes += run.execution->ExtraRead() + run.execution->ExtraWritten();
      if (const TileGrid* grid = run.execution->Grid()) explained.tile = TileText(*grid);
    }
    explained.terms = expected.terms;
    explained.time = expected.time;
    explained.basis = expected.basis;
    explained.limited_by = expected.limiter;
    explained.bound = run.bound.time;
    explained.bound_limited_by = run.bound.limiter;
    explained.upper_bound = kernel.upper_bound;
    explained.assumed = kernel.assumed;
    explained.measured_on = device_.calibrated_on;
    explained.constants_assumed = device_.systolic || device_.cores;
    if (!explained.constants_assumed && device_.calibrated_on.empty()) {
      explained.constants_of = device_.timing_neighbours.empty()
                                   ? "all architectures"
                                   : device_.timing_neighbours.front();
    }
    explained.advice = expected.advice;
    return explained;
  }

  const InferredModel& model_;
  const Device& device_;
  const ReportOptions& report_;
  Runner runner_;
  Plan plan_;
};

}  // namespace

Explanation Explain(const InferredModel& model, const Device& device, const ReportOptions& options,
                    const std::string& node) {
  return Explainer(model, device, options).Of(node);
}

}  // namespace dlcost
