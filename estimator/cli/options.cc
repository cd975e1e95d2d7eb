#include "estimator/cli/options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "estimator/core/error.h"
#include "estimator/core/shell.h"
#include "estimator/core/spelling.h"
#include "estimator/infer/custom_ops.h"
#include "estimator/infer/retype.h"
#include "estimator/open/open_model.h"
#include "estimator/precision/precision.h"
#include "estimator/training/step.h"

namespace dlcost {
namespace {

std::vector<std::pair<std::string, std::string>> OverridesOf(const DeviceOptions& options) {
  std::vector<std::pair<std::string, std::string>> overrides;
  for (const std::string& text : options.overrides) overrides.push_back(ParseOverride(text));
  return overrides;
}

// Puts options with names under a heading of the help, from the one of this number on.
void SetHeading(CLI::App& app, std::size_t from, const char* heading) {
  const std::vector<CLI::Option*> options = app.get_options();
  for (std::size_t i = from; i < options.size(); ++i) {
    if (!options[i]->get_positional()) options[i]->group(heading);
  }
}

}  // namespace

void AddModelOptions(CLI::App& app, ModelOptions& options, const std::string& positional) {
  const std::size_t first = app.get_options().size();
  app.add_option(positional, options.path, "ONNX file")->required()->type_name("FILE");
  app.add_option_function<std::string>(
         "--batch",
         [&options](const std::string& text) {
           std::int64_t size = 0;
           options.batch_max = text == "max";
           if (options.batch_max) return;
           if (!CLI::detail::lexical_cast(text, size)) {
             throw Error("--batch '{}' is no size: a whole number, or max", Printable(text));
           }
           options.batch = size;
         },
         "size of batch dimensions; max: the largest with which the device's memory suffices")
      ->type_name("N");
  app.add_option("--dim", options.dims,
                 "bind an open dimension by name, or an axis of an input, e.g. --dim seq=512, "
                 "--dim 'x[3]=192'")
      ->type_name("NAME=N");
  app.add_option("--input", options.inputs, "set one input's shape, e.g. --input x:1x3x224x224")
      ->type_name("NAME:SHAPE");
  app.add_option("--value", options.values,
                 "the integers that an input holds, e.g. --value shape=1,3,224,224")
      ->type_name("NAME=INTS");
  app.add_option(
         "--at", options.at,
         "bind what only the run knows, at a node or tensor (* for any text): its shape, its "
         "values, or a share of its upper bound, e.g. --at /NonZero=2x57, --at "
         "'/Range=[0,1,2]', --at '/experts*/NonZero=25%'")
      ->type_name("NODE=WHAT");
  app.add_option("--assume", options.assume,
                 "typical: estimate what only the run knows; counts that rest on it are marked")
      ->type_name("WHAT");
  app.add_option("--dtype", options.dtype,
                 "what if: store and compute floating-point tensors in this type, e.g. f16, int8")
      ->type_name("TYPE");
  app.add_option("--trips", options.trips,
                 "iterations of loops that the file leaves open: of one node, or of all")
      ->type_name("[NODE=]N");
  app.add_option("--branch", options.branches,
                 "branch of conditions that the file leaves open: then or else")
      ->type_name("[NODE=]WHICH");
  SetHeading(app, first, kModelHeading);
  const std::size_t training = app.get_options().size();
  app.add_option("--train", options.train,
                 "a training step instead of inference, with this optimizer: none, sgd, momentum, "
                 "adam, adamw, lion, lamb, adafactor or muon")
      ->type_name("OPTIMIZER");
  app.add_option("--loss", options.loss,
                 "what a step trains towards: auto, cross_entropy, mse, sum, or none (gradients of "
                 "the outputs are given)")
      ->type_name("LOSS")
      ->capture_default_str();
  app.add_option("--freeze", options.frozen,
                 "parameters that a step does not train, by name, e.g. --freeze 'encoder.*'")
      ->type_name("PATTERN");
  app.add_option(
         "--recompute", options.recompute,
         "what a step computes again instead of keeping it: none, scopes (repeated modules; "
         "scopes:K the first K), full, or selective:PATTERN (of nodes, modules or "
         "operators; selective:pointwise)")
      ->type_name("WHAT")
      ->capture_default_str();
  app.add_option("--accumulate", options.micro_batches,
                 "forward and backward passes, of a batch each, before one update")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--clip-norm", options.clip_norm,
                 "scale gradients down to this norm of all of them")
      ->type_name("NORM");
  app.add_flag("--sparse-embeddings", options.sparse_embeddings,
               "gradients of embeddings are the rows that were used, and their update (sgd, adam, "
               "adamw) touches no others");
  app.add_flag("--fit", options.fit,
               "recompute what takes least time of what makes a step fit the device's memory");
  SetHeading(app, training, kTrainingHeading);
  const std::size_t types = app.get_options().size();
  app.add_option("--precision", options.precision,
                 fmt::format("types as frameworks mix them: {} (autocast: amp-*; weights, "
                             "activations and gradients in a half type: fp16, bf16)",
                             fmt::join(PrecisionNames(), ", ")))
      ->type_name("NAME");
  app.add_option("--ops", options.ops, "a YAML file that defines operators of your own")
      ->type_name("FILE");
  SetHeading(app, types, kModelHeading);
}

namespace {

constexpr std::int64_t kMostMicroBatches = 1'000'000;

TrainOptions TrainOptionsOf(const ModelOptions& options) {
  RequireOneOf("--train", options.train, Optimizers());
  RequireOneOf("--loss", options.loss, Losses());
  if (options.micro_batches < 1 || options.micro_batches > kMostMicroBatches) {
    throw Error("--accumulate {} is not from 1 to {}", options.micro_batches, kMostMicroBatches);
  }
  if (options.clip_norm && !(*options.clip_norm > 0)) {
    throw Error("--clip-norm {} is not above 0", *options.clip_norm);
  }
  return {.optimizer = options.train,
          .loss = options.loss,
          .frozen = options.frozen,
          .precision = options.precision,
          .recompute = options.recompute,
          .micro_batches = options.micro_batches,
          .clips = options.clip_norm.has_value(),
          .sparse_embeddings = options.sparse_embeddings,
          .fuses_attention =
              [form = options.plan.Form()](DType type) { return !Materializes(form, type); },
          .joins_attention = options.plan.fusion != Fusion::kNone,
          .regathers = options.split != nullptr};
}

}  // namespace

Bindings BindingsOf(const ModelOptions& options) {
  Bindings bindings;
  bindings.batch = options.batch;
  if (options.batch && *options.batch < 0) throw Error("--batch {} is negative", *options.batch);
  for (const std::string& text : options.dims) AddDimBinding(bindings, text);
  for (const std::string& text : options.inputs) AddInputBinding(bindings, text);
  for (const std::string& text : options.values) AddValueBinding(bindings, text);
  return bindings;
}

InferredModel InferModel(const ModelOptions& options) {
  return InferModel(OpenModel(options.path), options, BindingsOf(options));
}

InferOptions InferOptionsOf(const ModelOptions& options, const Bindings& bindings) {
  InferOptions infer;
  infer.bindings = bindings;
  for (const std::string& text : options.at) infer.at.push_back(ParseRunBinding(text));
  if (!options.assume.empty()) RequireOneOf("--assume", options.assume, {"typical"});
  infer.assume_typical = !options.assume.empty();
  for (const std::string& text : options.trips) AddTrips(infer.control, text);
  for (const std::string& text : options.branches) AddBranch(infer.control, text);
  if (!options.ops.empty()) {
    auto custom = std::make_shared<CustomOperators>();
    for (const std::string& path : options.ops) custom->Read(path);
    infer.custom = std::move(custom);
  }
  return infer;
}

namespace {

std::optional<DType> WhatIfType(const ModelOptions& options) {
  if (options.dtype.empty()) return std::nullopt;
  const std::optional<DType> dtype = ParseDType(options.dtype);
  if (!dtype) {
    std::vector<std::string> names = {"float32", "float16", "bfloat16", "int8", "int4"};
    for (int i = 1; i < kDTypeCount; ++i) names.emplace_back(Name(static_cast<DType>(i)));
    throw Error("--dtype '{}' is no data type{}", Printable(options.dtype),
                DidYouMean(options.dtype, names));
  }
  return dtype;
}

}  // namespace

void ApplyDType(const ModelOptions& options, InferredModel& model) {
  if (const std::optional<DType> dtype = WhatIfType(options)) Retype(model, *dtype);
}

ModelDerivation DerivationOf(const ModelOptions& options) {
  const bool trains = !options.train.empty();
  if (!trains && options.loss != "auto") throw Error("--loss needs --train");
  if (!trains && options.micro_batches != 1) throw Error("--accumulate needs --train");
  if (!trains && options.sparse_embeddings) throw Error("--sparse-embeddings needs --train");
  if (!trains && options.clip_norm) throw Error("--clip-norm needs --train");
  if (!trains && options.recompute != "none") throw Error("--recompute needs --train");
  if (!trains && !options.frozen.empty()) throw Error("--freeze needs --train");
  const bool precise = !options.precision.empty();
  if (precise && !options.dtype.empty()) {
    throw Error("--precision and --dtype both choose types; give one of them");
  }
  if (precise) FindPrecision(options.precision);
  if (trains) {
    return [train = TrainOptionsOf(options)](InferredModel model, const InferOptions& infer) {
      return InferStep(BuildStep(model, train), model, infer);
    };
  }
  if (!precise || FindPrecision(options.precision).half == DType::kUndefined) return nullptr;
  return [&precision = FindPrecision(options.precision)](InferredModel model,
                                                         const InferOptions& infer) {
    return InPrecision(model, precision, infer);
  };
}

void RequireNothingSought(const ModelOptions& options) {
  if (!options.fit && !options.batch_max) return;
  throw Error("{} is for dlcost MODEL and explain alone", options.fit ? "--fit" : "--batch max");
}

InferredModel InferModel(Model model, const ModelOptions& options, const Bindings& bindings) {
  RequireNothingSought(options);
  const InferOptions infer = InferOptionsOf(options, bindings);
  const std::optional<DType> dtype = WhatIfType(options);
  const ModelDerivation derive = DerivationOf(options);
  InferredModel inferred = Infer(std::move(model), infer);
  if (options.split) inferred = options.split(std::move(inferred), infer);
  if (derive) inferred = derive(std::move(inferred), infer);
  if (dtype) {
    Retype(inferred, *dtype);
    if (inferred.step != nullptr) CountStepMemory(inferred);
  }
  return inferred;
}

TrainingStep BuildTrainingStep(const ModelOptions& options) {
  return BuildTrainingStep(OpenModel(options.path), options, BindingsOf(options));
}

TrainingStep BuildTrainingStep(Model model, const ModelOptions& options, const Bindings& bindings) {
  const TrainOptions train = TrainOptionsOf(options);
  const InferredModel forward = Infer(std::move(model), InferOptionsOf(options, bindings));
  Step step = BuildStep(forward, train);
  return {.model = std::move(step.model), .inputs = std::move(step.changed)};
}

void AddDeviceOptions(CLI::App& app, DeviceOptions& options, Devices devices) {
  const std::size_t first = app.get_options().size();
  const std::string several =
      devices == Devices::kSeveral ? "; several with commas, or all" : std::string();
  app.add_option("--gpu,--device", options.gpu,
                 "device id or alias (dlcost gpus), or a YAML file" + several)
      ->type_name("ID");
  app.add_option("--math", options.math,
                 "default, tf32, tf32-convolution (not in matrix products) or fp16-accumulate; "
                 "without it as --runtime does")
      ->type_name("MODE");
  app.add_option("--cache", options.cache, "where inputs are at the start: cold or warm")
      ->type_name("STATE")
      ->capture_default_str();
  app.add_option("--launch", options.launch,
                 "how kernels start, for expected times: graph (one after the other) or eager (a "
                 "framework call each); without it as --runtime does")
      ->type_name("MODE");
  app.add_option("--set", options.overrides,
                 "what if: change a value of the device, e.g. --set memory.bandwidth=8TB/s")
      ->type_name("KEY=VALUE");
  SetHeading(app, first, kDeviceHeading);
}

DeviceDatabase OpenDatabase() { return DeviceDatabase::FromEnvironment(); }

SystemDatabase OpenSystems() { return SystemDatabase(OpenDatabase().directories()); }

void RequireDeviceFor(const DeviceOptions& options) {
  if (!options.gpu.empty()) return;
  if (!options.overrides.empty()) throw Error("--set changes a device: add --gpu a100");
  if (options.cache != DeviceOptions().cache) {
    throw Error("--cache says where a device's inputs are: add --gpu a100");
  }
  if (!options.launch.empty()) {
    throw Error("--launch says how kernels start on a device: add --gpu a100");
  }
  if (!options.math.empty()) throw Error("--math says what a device rounds: add --gpu a100");
}

std::optional<Device> FindDevice(const DeviceOptions& options) {
  if (options.gpu.empty()) {
    RequireDeviceFor(options);
    return std::nullopt;
  }
  if (NamesSeveralDevices(options)) {
    throw Error(
        "--gpu '{}' names several devices where one is taken; side by side: dlcost MODEL --gpu {}",
        Printable(options.gpu), ShellWord(options.gpu));
  }
  return OpenDatabase().Find(options.gpu, OverridesOf(options));
}

bool NamesSeveralDevices(const DeviceOptions& options) {
  if (options.gpu == "all") return true;
  std::error_code error;  // of a path that cannot be looked at: it is none, then
  return options.gpu.find(',') != std::string::npos && !std::filesystem::exists(options.gpu, error);
}

std::vector<Device> FindDevices(const DeviceOptions& options) {
  const DeviceDatabase database = OpenDatabase();
  if (options.gpu == "all") {
    if (!options.overrides.empty()) throw Error("--set needs one device, not --gpu all");
    return database.All();
  }
  std::vector<Device> devices;
  for (std::size_t begin = 0; begin <= options.gpu.size();) {
    const std::size_t end = std::min(options.gpu.find(',', begin), options.gpu.size());
    if (end == begin) throw Error("--gpu '{}': an empty name", Printable(options.gpu));
    devices.push_back(database.Find(options.gpu.substr(begin, end - begin), OverridesOf(options)));
    begin = end + 1;
  }
  return devices;
}

namespace {

void SetRun(const DeviceOptions& options, RunOptions& run) {
  if (!options.math.empty()) {
    std::vector<std::string> modes;
    for (const MathMode mode : MathModes()) modes.emplace_back(Name(mode));
    RequireOneOf("--math", options.math, modes);
    run.math = *ParseMathMode(options.math);
  }
  RequireOneOf("--cache", options.cache, {"cold", "warm"});
  run.cache = options.cache == "warm" ? CacheState::kWarm : CacheState::kCold;
  if (options.launch.empty()) return;
  RequireOneOf("--launch", options.launch, {"graph", "eager"});
  run.eager = options.launch == "eager";
}

}  // namespace

void AddCountOptions(CLI::App& app, CountOptions& options) {
  const std::size_t first = app.get_options().size();
  std::vector<std::string> names;
  for (const Convention& convention : Conventions()) names.emplace_back(convention.name);
  app.add_option("--convention", options.convention,
                 fmt::format("what counts as a FLOP: {}", fmt::join(names, ", ")))
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--runtime", options.runtime,
                 "what runs the model, and with it which operators are one kernel, how kernels "
                 "start, the form of attention and the math mode: pytorch-eager, onnxruntime, "
                 "tensorrt, ... (dlcost runtimes), or a YAML file; without it a fusing compiler")
      ->type_name("NAME");
  app.add_option("--fusion", options.fusion,
                 "what runs as one kernel: none, default (as compilers do) or ideal (only inputs, "
                 "weights and outputs move); without it as --runtime does")
      ->type_name("MODE");
  app.add_option("--attention", options.attention,
                 "flash (scores stay on the chip), flash-16bit (types wider than 16 bits do not) "
                 "or materialized; without it as --runtime does")
      ->type_name("FORM");
  app.add_option("--algo", options.algorithms,
                 "how convolutions run: conv=auto, direct, implicit_gemm, im2col_gemm, winograd, "
                 "winograd_nonfused, fft or depthwise")
      ->type_name("OP=NAME")
      ->allow_extra_args(false);
  SetHeading(app, first, kCountHeading);
}

namespace {

void SetPlan(const CountOptions& count, PlanOptions& plan) {
  if (!count.fusion.empty()) {
    RequireOneOf("--fusion", count.fusion, {"none", "default", "ideal"});
    plan.fusion = *ParseFusion(count.fusion);
    plan.fuses = FusionSet::Compilers();
  }
  if (!count.attention.empty()) {
    RequireOneOf("--attention", count.attention, {"flash", "flash-16bit", "materialized"});
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

}  // namespace

Runtime RuntimeOf(const CountOptions& count) {
  return FindRuntime(count.runtime.empty() ? kDefaultRuntime : count.runtime,
                     OpenDatabase().directories());
}

ServedDevices FindServedDevices(const DeviceOptions& device, const CountOptions& count) {
  ServedDevices served;
  served.devices = FindDevices(device);
  if (device.gpu != "all") return served;
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
  options.convention = std::string(FindConvention(count.convention).name);
  const Runtime runtime = RuntimeOf(count);
  if (!runtime.vendors.empty() && !device.gpu.empty() && device.gpu != "all") {
    DeviceOptions as_sold = device;
    as_sold.overrides.clear();
    for (const Device& one : FindDevices(as_sold)) RequireRunsOn(runtime, one);
  }
  Assume(runtime, !count.runtime.empty(), options);
  SetPlan(count, options.plan);
  SetRun(device, options.run);
  if (!model.precision.empty() && FindPrecision(model.precision).tf32) {
    options.run.math = *ParseMathMode("tf32");
  }
  AddAlgorithms(count, options.run);
  return options;
}

void AddOutputOptions(CLI::App& app, std::string& format, std::string& output) {
  app.add_option("--format", format, "text or json")->type_name("FORMAT")->capture_default_str();
  app.add_option("-o,--output", output, "write to a file")->type_name("FILE");
}

void RequireOneOf(const std::string& option, const std::string& value,
                  const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
  throw Error("{} '{}' is not one of {}{}", option, Printable(value), fmt::join(allowed, ", "),
              DidYouMean(value, allowed));
}

}  // namespace dlcost
