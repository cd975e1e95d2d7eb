#include "estimator/request/count_options.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/precision/precision.h"

namespace dlcost {
namespace {

ModelQuestion QuestionOf(const ModelOptions& model) {
  ModelQuestion asked{.dtype = model.dtype,
                      .precision = model.precision,
                      .assume = model.assume,
                      .frozen = model.frozen,
                      .at = model.at,
                      .trips = model.trips,
                      .branches = model.branches,
                      .values = model.values,
                      .sparse_embeddings = model.sparse_embeddings};
  for (const auto& [name, values] : model.bound.values) {
    asked.values.push_back(fmt::format("{}={}", name, fmt::join(values, ",")));
  }
  return asked;
}

void SetRun(const DeviceOptions& options, RunOptions& run) {
  if (!options.math.empty()) {
    std::vector<std::string> modes;
    for (const MathMode mode : MathModes()) modes.emplace_back(Name(mode));
    RequireOneOf("--math", options.math, modes);
    run.math = *ParseMathMode(options.math);
  }
  RequireOneOf("--cache", options.cache, NamesOf(CacheStates()));
  run.cache = *ParseCacheState(options.cache);
  if (!options.launch.empty()) {
    RequireOneOf("--launch", options.launch, NamesOf(Launches()));
    run.launch = *ParseLaunch(options.launch);
  }
  if (!options.layout.empty()) {
    RequireOneOf("--layout", options.layout, {"file", "kernels"});
    run.converts = options.layout == "file";
  }
  if (!options.update.empty()) {
    RequireOneOf("--update-form", options.update, NamesOf(UpdateForms()));
    run.update = *ParseUpdateForm(options.update);
  }
}

void SetPlan(const CountOptions& count, PlanOptions& plan) {
  if (!count.fusion.empty()) {
    RequireOneOf("--fusion", count.fusion, {"none", "default", "ideal"});
    plan.fusion = *ParseFusion(count.fusion);
    plan.fuses = FusionSet::Compilers();
    if (plan.fusion != Fusion::kNone) plan.composed_apart = false;  // they know composed functions
  }
  if (!count.attention.empty()) {
    RequireOneOf("--attention", count.attention, NamesOf(AttentionForms()));
    plan.attention = ParseAttentionForm(count.attention);
  }
}

void AddAlgorithms(const CountOptions& count, RunOptions& run) {
  for (const std::string& text : count.algorithms) {
    const std::size_t equals = text.find('=');
    const std::string op = text.substr(0, equals);
    RequireOneOf("--algo", op, {"conv"});
    if (equals == std::string::npos) throw Error("--algo {} wants a name, as in conv=winograd", op);
    const std::string name = text.substr(equals + 1);
    RequireOneOf("--algo conv", name,
                 {"auto", "direct", "implicit_gemm", "im2col_gemm", "winograd", "winograd_nonfused",
                  "fft", "depthwise"});
    run.conv = ParseAlgorithm(name);  // none for auto
  }
}

// TF32 is a type that --precision and --math both choose.
void RequireOneMath(const std::string& precision, const std::string& math) {
  if (precision.empty() || math.empty()) return;
  const Precision& types = FindPrecision(precision);
  const bool contradict = types.tf32 ? math != "tf32" : types.name == "fp32" && math != "default";
  if (contradict) {
    throw Error("--precision {} and --math {} contradict each other: leave one of them out",
                types.name, math);
  }
}

}  // namespace

Runtime RuntimeOf(const CountOptions& count) {
  return FindRuntime(count.runtime.empty() ? kDefaultRuntime : count.runtime,
                     OpenDatabase().directories());
}

ServedDevices FindServedDevices(const DeviceOptions& device, const CountOptions& count) {
  if (device.gpu != "all") return {.devices = FindDevices(device), .left_out = ""};
  return ServedOf(FindDevices(device), count);
}

ServedDevices ServedOf(std::vector<Device> devices, const CountOptions& count) {
  ServedDevices served{.devices = std::move(devices), .left_out = ""};
  const Runtime runtime = RuntimeOf(count);
  const std::size_t known = served.devices.size();
  std::vector<std::string> others;  // their vendors
  std::erase_if(served.devices, [&](const Device& one) {
    if (RunsOn(runtime, one)) return false;
    if (std::find(others.begin(), others.end(), one.vendor) == others.end()) {
      others.push_back(one.vendor);
    }
    return true;
  });
  if (served.devices.empty()) {
    throw Error("--runtime {} runs on devices of {}, and `dlcost gpus` lists none of them",
                runtime.id, fmt::join(runtime.vendors, ", "));
  }
  if (others.empty()) return served;
  std::sort(others.begin(), others.end());
  served.left_out = fmt::format(
      "{} of {} devices are left out, since {} runs on none of {}; on those: --runtime generic",
      known - served.devices.size(), known, runtime.id, fmt::join(others, ", "));
  return served;
}

ReportOptions ReportOptionsOf(const CountOptions& count, const DeviceOptions& device,
                              const ModelOptions& model) {
  ReportOptions options;
  options.model = QuestionOf(model);
  options.convention = std::string(FindConvention(count.convention).name);
  const Runtime runtime = RuntimeOf(count);
  if (device.found != nullptr) {
    RequireRunsOn(runtime, *device.found);
  } else if (!runtime.vendors.empty() && !device.gpu.empty() && device.gpu != "all") {
    DeviceOptions as_sold = device;
    as_sold.overrides.clear();
    for (const Device& one : FindDevices(as_sold)) RequireRunsOn(runtime, one);
  }
  Assume(runtime, !count.runtime.empty(), options);
  SetPlan(count, options.plan);
  SetRun(device, options.run);
  RequireOneMath(model.precision, device.math);
  if (!model.precision.empty() && FindPrecision(model.precision).tf32) {
    options.run.math = *ParseMathMode("tf32");
  }
  AddAlgorithms(count, options.run);
  return options;
}

}  // namespace dlcost
