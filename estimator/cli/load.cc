#include "estimator/cli/load.h"

#include <algorithm>
#include <set>

#include "estimator/core/error.h"
#include "estimator/onnx/reader.h"
#include "estimator/regress/report_reader.h"

namespace dlcost {
namespace {

// Names of the model's symbolic dimensions.
std::set<std::string> Symbols(const Model& model) {
  std::set<std::string> symbols;
  for (const TensorId id : model.graph.inputs) {
    const auto& declared = model.graph.tensors[static_cast<std::size_t>(id)].declared;
    if (!declared || !declared->dims) continue;
    for (const Dim& dim : *declared->dims) {
      if (dim.size < 0 && !dim.symbol.empty()) symbols.insert(dim.symbol);
    }
  }
  return symbols;
}

// The sizes that `like` was made with, for dimensions that the options do not mention.
void BindLike(const Report& like, const Model& model, Bindings& bindings) {
  if (bindings.batch || !bindings.inputs.empty()) return;
  const std::set<std::string> symbols = Symbols(model);
  for (const auto& [name, size] : like.model.dims) {
    // A default that was noted then is noted again, so that a report written anew is the same.
    const std::string noted = name + " = 1 by default";
    const bool by_default =
        std::any_of(like.notes.begin(), like.notes.end(),
                    [&](const std::string& note) { return note.starts_with(noted); });
    if (symbols.count(name) != 0 && !by_default) bindings.dims.emplace(name, size);
  }
}

}  // namespace

Report LoadReport(const Source& source, const Report* like) {
  const std::string& path = source.model.path;
  if (IsJsonFile(path)) {
    Report report = ReadReport(path);
    if (!source.device.gpu.empty()) {
      const Device device = *FindDevice(source.device);
      if (!report.device || report.device->id != device.id) {
        throw Error("{}: this report is for {}, not for {}; give the model instead",
                    Printable(path), report.device ? report.device->id : "no device", device.id);
      }
    }
    return report;
  }
  DeviceOptions device_options = source.device;
  if (device_options.gpu.empty() && like != nullptr && like->device) {
    device_options.gpu = like->device->id;
  }
  ReportOptions options = ReportOptionsOf(source.count, device_options);
  if (like != nullptr) {
    const ReportOptions standard = ReportOptionsOf(CountOptions(), DeviceOptions());
    if (options.convention == standard.convention) options.convention = like->options.convention;
    if (options.bound.math == standard.bound.math) options.bound.math = like->options.bound.math;
    if (options.bound.cache == standard.bound.cache)
      options.bound.cache = like->options.bound.cache;
    if (options.plan.fusion == standard.plan.fusion)
      options.plan.fusion = like->options.plan.fusion;
  }
  const std::optional<Device> device = FindDevice(device_options);
  ModelOptions model_options = source.model;
  if (model_options.dtype.empty() && like != nullptr) model_options.dtype = like->options.dtype;
  options.dtype = model_options.dtype;
  Bindings bindings = BindingsOf(source.model);
  Model model = ReadModel(path);
  if (like != nullptr) BindLike(*like, model, bindings);
  return BuildReport(InferModel(std::move(model), model_options, bindings), device, options);
}

}  // namespace dlcost
