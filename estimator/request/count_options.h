#pragma once

#include <string>
#include <vector>

#include "estimator/report/report.h"
#include "estimator/request/device_options.h"
#include "estimator/request/model_options.h"
#include "estimator/runtime/runtime.h"

namespace dlcost {

// How it is counted and fused.
struct CountOptions {
  std::string convention = "dlcost";
  std::string runtime;                  // "" kDefaultRuntime
  std::string fusion;                   // "" as the runtime does
  std::string attention;                // "" as the runtime does
  std::vector<std::string> algorithms;  // "conv=winograd"
};
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
// Of these, those that the runtime runs on. Throws Error where it runs on none.
ServedDevices ServedOf(std::vector<Device> devices, const CountOptions& count);
ServedDevices FindServedDevices(const DeviceOptions& device, const CountOptions& count);

}  // namespace dlcost
