#include "estimator/cli/job.h"

#include <algorithm>
#include <cstdlib>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

constexpr int kMostDevices = 1 << 20;

}  // namespace

void AddSystemOption(CLI::App& app, std::string& system, const std::string& help) {
  app.add_option("--system", system, help)->type_name("NAME");
}

void AddSpreadOption(CLI::App& app, double& percent) {
  app.add_option("--spread", percent,
                 "standard deviation of the devices' speeds: a step is that of the slowest")
      ->type_name("PERCENT")
      ->capture_default_str();
}

double SpreadOf(double percent) {
  if (!(percent >= 0) || percent > 20) throw Error("--spread {}: 0 to 20 percent", percent);
  return percent / 100;
}

void AddJobOptions(CLI::App& app, JobOptions& options) {
  AddModelOptions(app, options.model);
  AddDeviceOptions(app, options.device);
  AddCountOptions(app, options.count);
  AddSystemOption(app, options.system);
}

Job::Job(const JobOptions& options) : options_(options) {
  if (options.system.empty()) {
    throw Error("on what? --system NAME (`dlcost systems` lists them)");
  }
  system_ = OpenSystems().Find(options.system);
  DeviceOptions device = options.device;
  if (device.gpu.empty()) device.gpu = system_.device;
  device_ = FindDevice(device);
  report_ = ReportOptionsOf(options.count, device, options.model);
  report_.dtype = options.model.dtype;
  report_.detail = ReportDetail::kRows;
}

StepProfile Job::Profile(std::int64_t batch, std::optional<DType> send_as,
                         const TensorParallel& split) const {
  ModelOptions options = options_.model;
  options.batch = batch;
  if (split.devices > 1) {
    options.split = [&](const InferredModel& model, const InferOptions& infer) {
      return InferRank(model, split, infer);
    };
  }
  const InferredModel model = InferModel(options);
  StepProfile profile =
      ProfileOf(model, BuildReport(model, *device_, report_), system_, batch, send_as);
  if (split.devices > 1) profile.notes = model.notes;
  if (split.annotations != nullptr && !split.annotations->stage_of.empty()) {
    profile.stages = AnnotatedStages(model, profile, *split.annotations);
  }
  return profile;
}

void Job::CheckSize(const std::string& what, std::int64_t devices) const {
  const int most = std::min(system_.MostDevices(), kMostDevices);
  if (devices < 1 || devices > most) {
    throw Error("{} {}: {} joins 1 to {} devices", what, devices, system_.id, most);
  }
}

std::optional<LeadingNumber> ParseLeadingNumber(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !(value > 0) || value > 1e18) return std::nullopt;
  return LeadingNumber{value, end};
}

}  // namespace dlcost
