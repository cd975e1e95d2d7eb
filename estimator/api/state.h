#pragma once

#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "dlcost/device.h"
#include "dlcost/error.h"
#include "dlcost/model.h"
#include "dlcost/parallel.h"
#include "dlcost/report.h"
#include "dlcost/sweep.h"
#include "dlcost/system.h"
#include "estimator/core/error.h"
#include "estimator/graph/graph.h"
#include "estimator/hardware/device.h"
#include "estimator/infer/sizes.h"
#include "estimator/report/report.h"
#include "estimator/request/count_options.h"
#include "estimator/request/device_options.h"
#include "estimator/request/input_options.h"
#include "estimator/request/model_options.h"
#include "estimator/system/system.h"

namespace dlcost::api {

// What the values of the public interface hold.

struct Model::State {
  dlcost::Model model;
  bool from_file = true;
};

struct Device::State {
  dlcost::Device device;
};

struct System::State {
  dlcost::System system;
};

struct Report::State {
  dlcost::Report report;
  std::optional<dlcost::Device> device;
  // The same with what only a page shows, which takes more memory than all the rest: counted anew
  // where one is asked for. Null where the model is not known.
  std::function<dlcost::Report()> for_page;

  // What was counted, for the model's file. None where the model is not known.
  std::optional<ModelOptions> model;

  dlcost::Report ForPage() const { return for_page ? for_page() : report; }
  // Its device; of a report that was read the one that the database knows.
  std::optional<dlcost::Device> DeviceForPage() const;
};

// Runs what may throw, as the public interface throws it.
template <typename Function>
auto Guarded(Function function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(error.what());
  }
}

// The same as the rooms take it (estimator/request/). The model is pointed to.
ModelOptions ModelOptionsOf(const Bindings& bindings, const Options& options);
ModelOptions ModelOptionsOf(const Model& model, const Bindings& bindings, const Options& options);
CountOptions CountOptionsOf(const Options& options);
InputOptions InputOptionsOf(const InputPipeline& input);
// Throws dlcost::Error for an axis without sizes, or with sizes that are none.
SizeList SizesOf(const Axis& axis);
// `device` is pointed to; null for none.
DeviceOptions DeviceOptionsOf(const Options& options, const dlcost::Device* device);
// Throws dlcost::Error where the runtime has no kernels for the device.
ReportOptions ReportOptionsOf(const Options& options, const ModelOptions& model,
                              const dlcost::Device* device);

std::vector<dlcost::Device> DevicesOf(const std::vector<Device>& devices);
Cost CostOf(const Sums& sums, bool timed);

}  // namespace dlcost::api
