#include "estimator/request/source.h"

#include <algorithm>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <set>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/open/open_model.h"
#include "estimator/regress/report_reader.h"

namespace dlcost {
namespace {

// Whether `name` can be bound in the model: an open dimension of an input, "x[3]", or a size that
// only inner tensors have.
bool HasDim(const Model& model, const std::string& name) {
  for (const OpenDim& dim : OpenDimsOf(model)) {
    if (dim.key == name || PartsOf(dim.key).count(name) != 0) return true;
    for (const OpenDim::Place& place : dim.places) {
      if (AxisKey(place.input, place.axis) == name) return true;
    }
  }
  return std::any_of(model.graph.tensors.begin(), model.graph.tensors.end(), [&](const Tensor& t) {
    return t.declared && t.declared->dims &&
           std::any_of(t.declared->dims->begin(), t.declared->dims->end(),
                       [&](const Dim& dim) { return dim.size < 0 && dim.symbol == name; });
  });
}

// Moves the dimensions that the model has nowhere out of the bindings.
void TakeForeignDims(const Model& model, Bindings& bindings, std::set<std::string>& foreign) {
  std::erase_if(bindings.dims, [&](const auto& dim) {
    const bool is_foreign = !HasDim(model, dim.first);
    if (is_foreign) foreign.insert(dim.first);
    return is_foreign;
  });
}

// Whether a note of the form "batch, x[0] = 1 by default; ..." names the dimension.
bool NotesDefaultOf(const std::string& note, const std::string& label) {
  const std::size_t end = note.find(" = 1 by default");
  if (end == std::string::npos) return false;
  const std::string names = ", " + note.substr(0, end) + ",";
  return names.find(", " + label + ",") != std::string::npos;
}

// The sizes that `like` was made with, for dimensions that the options do not mention.
void BindLike(const Report& like, const Model& model, Bindings& bindings) {
  if (bindings.batch || !bindings.inputs.empty()) return;
  for (const OpenDim& dim : OpenDimsOf(model)) {
    const auto given = like.model.dims.find(dim.key);
    // A default that was noted then is noted again, so that a report written anew is the same.
    const bool by_default =
        std::any_of(like.notes.begin(), like.notes.end(),
                    [&](const std::string& note) { return NotesDefaultOf(note, dim.Label()); });
    if (given != like.model.dims.end() && !by_default) {
      bindings.dims.emplace(dim.key, given->second);
    }
  }
}

// What the report was made with, where the options are silent.
ModelOptions Alike(ModelOptions options, const Report& like) {
  const ModelQuestion& asked = like.options.model;
  const auto take = [](auto& value, const auto& from) {
    if (value.empty()) value = from;
  };
  if (options.dtype.empty() && options.precision.empty()) {
    options.dtype = asked.dtype;
    options.precision = asked.precision;
    // Reports of earlier releases tell that of a step alone.
    if (like.step != nullptr) take(options.precision, like.step->precision);
  }
  take(options.assume, asked.assume);
  take(options.at, asked.at);
  take(options.trips, asked.trips);
  take(options.branches, asked.branches);
  take(options.values, asked.values);
  if (like.step == nullptr) return options;
  if (options.train.empty()) {
    options.train = like.step->optimizer;
    options.loss = like.step->loss;
  }
  take(options.frozen, asked.frozen);
  options.sparse_embeddings |= asked.sparse_embeddings;
  if (options.recompute == "none") options.recompute = like.step->recompute;
  if (options.micro_batches == 1) options.micro_batches = like.step->micro_batches.value();
  if (!options.clip_norm && like.step->clips) options.clip_norm = 1;  // whichever
  return options;
}

const InferredModel& Keep(InferredModel model) {
  static std::mutex mutex;
  static auto& kept = *new std::deque<InferredModel>;
  const std::lock_guard lock(mutex);
  return kept.emplace_back(std::move(model));
}

// Where a report is welcome too, the error says so.
Model ReadModelOrExplain(const std::string& path) {
  try {
    return OpenModel(path);
  } catch (const Error& error) {
    const std::string what = error.what();
    if (what.find("not a valid ONNX file") == std::string::npos &&
        what.find("not an ONNX model") == std::string::npos) {
      throw;
    }
    throw Error("{}; expected an ONNX model, or a report that dlcost wrote with --format json",
                what);
  }
}

}  // namespace

bool IsReportFile(const std::string& path) {
  return !IsProvided(path) && IsJsonFile(path) && !IsConfigFile(path);
}

bool IsReport(const Source& source) {
  if (source.report != nullptr || source.model.read != nullptr) return source.report != nullptr;
  return IsReportFile(source.model.path);
}

Report LoadReport(const Source& source, const Report* like) {
  const std::string& path = source.model.path;
  if (IsReport(source)) {
    Report report = source.report != nullptr ? *source.report : ReadReport(path);
    if (source.foreign_dims != nullptr) {
      for (const auto& [name, size] : BindingsOf(source.model).dims) {
        if (report.model.dims.count(name) == 0) source.foreign_dims->insert(name);
      }
    }
    if (!source.device.gpu.empty() || source.device.found != nullptr) {
      const Device device = *FindDevice(source.device);
      if (!report.device || report.device->id != device.id) {
        throw Error("{}: this report is for {}, not for {}; give the model instead",
                    Printable(path), report.device ? report.device->id : "no device", device.id);
      }
    }
    return report;
  }
  DeviceOptions device_options = source.device;
  if (device_options.gpu.empty() && device_options.found == nullptr && like != nullptr &&
      like->device) {
    device_options.gpu = like->device->id;
  }
  ModelOptions model_options = like != nullptr ? Alike(source.model, *like) : source.model;
  ReportOptions options = ReportOptionsOf(source.count, device_options, model_options);
  options.detail = source.detail;
  if (like != nullptr) {
    const ReportOptions standard = ReportOptionsOf(CountOptions(), DeviceOptions(), ModelOptions());
    const auto take = [](auto& value, const auto& if_still, const auto& from) {
      if (value == if_still) value = from;
    };
    const ReportOptions& from = like->options;
    take(options.convention, standard.convention, from.convention);
    take(options.run.cache, standard.run.cache, from.run.cache);
    take(options.run.conv, standard.run.conv, from.run.conv);
    if (source.count.runtime.empty()) {
      take(options.run.math, standard.run.math, from.run.math);
      take(options.plan.fusion, standard.plan.fusion, from.plan.fusion);
      take(options.plan.fuses, standard.plan.fuses, from.plan.fuses);
      options.plan.attention_by_default = from.plan.attention_by_default;
      options.plan.composed_apart = from.plan.composed_apart;
      take(options.run.launch, standard.run.launch, from.run.launch);
      options.run.selection = from.run.selection;
      options.run.bias_apart = from.run.bias_apart;
      options.run.planes_first = from.run.planes_first;
      options.run.odd_rows = from.run.odd_rows;
      options.run.int8_blocks = from.run.int8_blocks;
      options.run.timed_convolutions = from.run.timed_convolutions;
      take(options.run.converts, standard.run.converts, from.run.converts);
      take(options.run.update, standard.run.update, from.run.update);
      options.runtime = from.runtime;
      options.runtime_given = from.runtime_given;
    }
  }
  const std::optional<Device> device = FindDevice(device_options);
  model_options.plan = options.plan;
  Bindings bindings = BindingsOf(model_options);
  Model model = source.model.read != nullptr ? *source.model.read : ReadModelOrExplain(path);
  if (source.foreign_dims != nullptr && !bindings.dims.empty()) {
    TakeForeignDims(model, bindings, *source.foreign_dims);
  }
  if (like != nullptr) BindLike(*like, model, bindings);
  InferredModel inferred = InferModel(std::move(model), model_options, bindings);
  if (source.keeps_model) return BuildReport(Keep(std::move(inferred)), device, options);
  return BuildReport(inferred, device, options);
}

namespace {

std::pair<Report, Report> LoadBoth(const Source& before, const Source& after, bool alike) {
  const bool before_is_model = !IsReport(before), after_is_model = !IsReport(after);
  if (alike && before_is_model != after_is_model) {
    Report report = LoadReport(before_is_model ? after : before);
    Report model = LoadReport(before_is_model ? before : after, &report);
    if (before_is_model) std::swap(report, model);
    return {std::move(report), std::move(model)};
  }
  std::future<Report> second =
      std::async(std::launch::async, [&after] { return LoadReport(after); });
  Report first = LoadReport(before);  // if it throws, the future waits for the other one
  return {std::move(first), second.get()};
}

}  // namespace

std::pair<Report, Report> LoadReports(const Source& before, const Source& after, bool alike) {
  std::set<std::string> not_before, not_after;
  Source first = before, second = after;
  first.foreign_dims = &not_before;
  second.foreign_dims = &not_after;
  std::pair<Report, Report> reports = LoadBoth(first, second, alike);
  // A dimension that no side has which it was given to was mistyped.
  const auto given = [](const Source& source) { return BindingsOf(source.model).dims; };
  const std::map<std::string, std::int64_t> to_before = given(before), to_after = given(after);
  const auto refuse = [&](const std::string& name, const char* option, const char* where) {
    std::vector<std::string> known;
    for (const Report* report : {&reports.first, &reports.second}) {
      for (const auto& [symbol, size] : report->model.dims) known.push_back(symbol);
    }
    throw Error("{} {}: {} a dimension of that name{}", option, Printable(name), where,
                DidYouMean(name, known));
  };
  for (const std::string& name : not_before) {
    if (to_after.count(name) == 0) refuse(name, "--dim", "the first model does not have");
    if (not_after.count(name) != 0) refuse(name, "--dim", "neither model has");
  }
  for (const std::string& name : not_after) {
    if (to_before.count(name) == 0) refuse(name, "--after-dim", "the second model does not have");
  }
  return reports;
}

}  // namespace dlcost
