#include "estimator/request/device_options.h"

#include <algorithm>
#include <filesystem>

#include "estimator/core/error.h"
#include "estimator/core/shell.h"

namespace dlcost {
namespace {

std::vector<std::pair<std::string, std::string>> OverridesOf(const DeviceOptions& options) {
  std::vector<std::pair<std::string, std::string>> overrides;
  for (const std::string& text : options.overrides) overrides.push_back(ParseOverride(text));
  return overrides;
}

}  // namespace

DeviceDatabase OpenDatabase() { return DeviceDatabase::FromEnvironment(); }

SystemDatabase OpenSystems() { return SystemDatabase(OpenDatabase().directories()); }

void RequireDeviceFor(const DeviceOptions& options) {
  if (options.found != nullptr || !options.gpu.empty()) return;
  if (!options.overrides.empty()) throw Error("--set changes a device: add --gpu a100");
  if (options.cache != DeviceOptions().cache) {
    throw Error("--cache says where a device's inputs are: add --gpu a100");
  }
  if (!options.launch.empty()) {
    throw Error("--launch says how kernels start on a device: add --gpu a100");
  }
  if (!options.layout.empty()) {
    throw Error("--layout says how tensors lie on a device: add --gpu a100");
  }
  if (!options.update.empty()) {
    throw Error("--update-form says how kernels on a device update parameters: add --gpu a100");
  }
  if (!options.math.empty()) throw Error("--math says what a device rounds: add --gpu a100");
}

std::optional<Device> FindDevice(const DeviceOptions& options) {
  if (options.found != nullptr) return *options.found;
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
  if (options.found != nullptr) return false;
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
    const std::string name = options.gpu.substr(begin, end - begin);
    if (name.empty()) throw Error("--gpu '{}': an empty name", Printable(options.gpu));
    if (name == "all") {
      throw Error("--gpu '{}': all are all that there are, without others", Printable(options.gpu));
    }
    devices.push_back(database.Find(name, OverridesOf(options)));
    begin = end + 1;
  }
  return devices;
}

}  // namespace dlcost
