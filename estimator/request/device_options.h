#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/hardware/database.h"
#include "estimator/system/system_database.h"

namespace dlcost {

// Which device, and how bounds are taken.
struct DeviceOptions {
  std::string gpu;   // "" none
  std::string math;  // "" as the runtime does
  std::string cache = "passed";
  std::string launch;  // "" as the runtime does
  std::string layout;  // of tensors between kernels: "" as the runtime does
  std::string update;  // of parameters: "" as the runtime does
  std::vector<std::string> overrides;
  const Device* found = nullptr;  // instead of `gpu`, where it was found already
};
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

}  // namespace dlcost
