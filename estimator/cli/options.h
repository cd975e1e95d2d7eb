#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "estimator/hardware/database.h"
#include "estimator/infer/infer.h"
#include "estimator/report/report.h"
#include "estimator/runtime/runtime.h"
#include "estimator/system/system_database.h"

namespace dlcost {

// Options that several subcommands share.

// What is counted of an inferred model instead.
using ModelDerivation = std::function<InferredModel(InferredModel, const InferOptions&)>;

// Headings of the help, under which the shared options stand.
inline constexpr const char* kModelHeading = "Model and its sizes";
inline constexpr const char* kTrainingHeading = "Training";
inline constexpr const char* kDeviceHeading = "Device";
inline constexpr const char* kCountHeading = "How it runs and counts";

// Which model, and its open dimensions.
struct ModelOptions {
  std::string path;
  std::optional<std::int64_t> batch;
  std::vector<std::string> dims, inputs, trips, branches, values, ops, at;
  std::string assume;  // "" nothing
  std::string dtype;   // "" as the file says
  // A training step instead of inference: the optimizer, "" for none of this.
  std::string train;
  std::string loss = "auto";
  std::vector<std::string> frozen;
  std::string precision;  // "" as the file says
  std::string recompute = "none";
  std::int64_t micro_batches = 1;
  std::optional<double> clip_norm;
  bool sparse_embeddings = false;
  // What is looked for (fit.h): the largest batch that fits, the cheapest recomputation that does.
  bool batch_max = false, fit = false;
  ModelDerivation split;  // before any other: the part of one of several devices
  // How kernels are formed, of a report's options: a step is derived for it, since attention that
  // runs as one kernel keeps no scores.
  PlanOptions plan;
};
// `positional` is the name of the positional argument for the file.
void AddModelOptions(CLI::App& app, ModelOptions& options, const std::string& positional = "model");
Bindings BindingsOf(const ModelOptions& options);
// Throws Error where something is to be looked for (fit.h): most commands take what is given.
void RequireNothingSought(const ModelOptions& options);
// What inference needs to know, dimensions included; --dtype is not part of it.
InferOptions InferOptionsOf(const ModelOptions& options, const Bindings& bindings);
// Stores and computes in --dtype where it is given.
void ApplyDType(const ModelOptions& options, InferredModel& model);
// What is counted of an inferred model instead: the training step, or the precision, that the
// options ask for. Null where they ask for neither; throws Error where they contradict each other.
ModelDerivation DerivationOf(const ModelOptions& options);
InferredModel InferModel(const ModelOptions& options);
// The same for a model that was read already, with the dimensions bound so.
InferredModel InferModel(Model model, const ModelOptions& options, const Bindings& bindings);

// The training step that --train names, as a model, and which of its stored tensors are inputs of
// a file that has it: what training changes.
struct TrainingStep {
  Model model;
  std::vector<TensorId> inputs;
};
TrainingStep BuildTrainingStep(const ModelOptions& options);
// The same for a model that was read already.
TrainingStep BuildTrainingStep(Model model, const ModelOptions& options, const Bindings& bindings);

// Which device, and how bounds are taken.
struct DeviceOptions {
  std::string gpu;   // "" none
  std::string math;  // "" as the runtime does
  std::string cache = "cold";
  std::string launch;  // "" as the runtime does
  std::vector<std::string> overrides;
};
// How many devices a command takes.
enum class Devices { kOne, kSeveral };
void AddDeviceOptions(CLI::App& app, DeviceOptions& options, Devices devices = Devices::kOne);
DeviceDatabase OpenDatabase();
// The systems beside the devices.
SystemDatabase OpenSystems();
// Throws Error where other options of the device are given than which one.
void RequireDeviceFor(const DeviceOptions& options);
// The one device of --gpu, none for "". Throws Error where it names several.
std::optional<Device> FindDevice(const DeviceOptions& options);
// "a100,h100" or "all" name several; one otherwise.
bool NamesSeveralDevices(const DeviceOptions& options);
std::vector<Device> FindDevices(const DeviceOptions& options);

// How it is counted and fused.
struct CountOptions {
  std::string convention = "dlcost";
  std::string runtime;                  // "" kDefaultRuntime
  std::string fusion;                   // "" as the runtime does
  std::string attention;                // "" as the runtime does
  std::vector<std::string> algorithms;  // "conv=winograd"
};
void AddCountOptions(CLI::App& app, CountOptions& options);
// The runtime with what the options say otherwise; `model` for the unit that its precision runs
// products on.
ReportOptions ReportOptionsOf(const CountOptions& count, const DeviceOptions& device,
                              const ModelOptions& model);
Runtime RuntimeOf(const CountOptions& count);

// The devices of --gpu; of all, those that the runtime runs on.
struct ServedDevices {
  std::vector<Device> devices;
  std::string left_out;  // one line about the others, "" where there are none
};
ServedDevices FindServedDevices(const DeviceOptions& device, const CountOptions& count);

// --format (text or json) and --output.
void AddOutputOptions(CLI::App& app, std::string& format, std::string& output);

// Throws Error with the nearest spelling unless `value` is one of `allowed`.
void RequireOneOf(const std::string& option, const std::string& value,
                  const std::vector<std::string>& allowed);

}  // namespace dlcost
