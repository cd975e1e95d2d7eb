#pragma once

#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "dlcost/device.h"
#include "dlcost/error.h"
#include "dlcost/model.h"
#include "dlcost/report.h"
#include "estimator/cli/options.h"
#include "estimator/core/error.h"
#include "estimator/graph/graph.h"
#include "estimator/hardware/device.h"
#include "estimator/report/report.h"

namespace dlcost::api {

// What the values of the public interface hold.

struct Model::State {
  dlcost::Model model;
};

struct Device::State {
  dlcost::Device device;
};

struct Report::State {
  dlcost::Report report;
  std::optional<dlcost::Device> device;
  // The same with what only a page shows, which takes more memory than all the rest: counted anew
  // where one is asked for. Null where the model is not known.
  std::function<dlcost::Report()> for_page;
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

// The same as the command line takes it (estimator/cli/options.h).
ModelOptions ModelOptionsOf(const std::string& path, const Bindings& bindings,
                            const Options& options);
dlcost::Bindings BindingsOf(const Bindings& bindings);
// Throws dlcost::Error where the runtime has no kernels for one of the devices.
ReportOptions ReportOptionsOf(const Options& options, std::span<const dlcost::Device> devices);

std::vector<dlcost::Device> DevicesOf(const std::vector<Device>& devices);
Cost CostOf(const Sums& sums, bool timed);

}  // namespace dlcost::api
