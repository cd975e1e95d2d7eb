#include "dlcost/device.h"

#include "estimator/api/state.h"
#include "estimator/hardware/database.h"
#include "estimator/report/device_list.h"
#include "estimator/request/sweep.h"

namespace dlcost::api {

Device::Device(std::shared_ptr<const State> state) : state_(std::move(state)) {
  const dlcost::Device& device = state_->device;
  id = device.id;
  name = device.name;
  aliases = device.aliases;
  vendor = device.vendor;
  architecture = device.architecture;
  kind = dlcost::Name(device.kind);
  year = device.year;
  if (device.memory.size) memory_bytes = device.memory.size->value();
  if (device.memory.bandwidth) memory_bytes_per_s = device.memory.bandwidth->value();
  if (device.power) power_w = device.power->value();
}

std::string Device::Json() const {
  return Guarded([&] { return DeviceJson(state_->device); });
}
std::string Device::Text() const {
  return Guarded([&] { return DeviceText(state_->device); });
}

Device FindDevice(const std::string& name, const std::vector<std::string>& changes) {
  return Guarded([&] {
    std::vector<std::pair<std::string, std::string>> overrides;
    for (const std::string& change : changes) overrides.push_back(ParseOverride(change));
    return Device(std::make_shared<const Device::State>(
        Device::State{DeviceDatabase::FromEnvironment().Find(name, overrides)}));
  });
}

namespace {

std::vector<Device> PublicDevices(std::vector<dlcost::Device> found) {
  std::vector<Device> devices;
  for (dlcost::Device& device : found) {
    devices.emplace_back(std::make_shared<const Device::State>(Device::State{std::move(device)}));
  }
  return devices;
}

}  // namespace

std::vector<Device> FindDevices(const std::string& names, const std::vector<std::string>& changes) {
  return Guarded([&] {
    DeviceOptions options;
    options.gpu = names;
    options.overrides = changes;
    return PublicDevices(FindDevicesOverValues(options));
  });
}

std::vector<Device> Devices(const DeviceQuery& query) {
  return Guarded([&] {
    return PublicDevices(SelectDevices(
        OpenDatabase().All(),
        {.vendor = query.vendor, .kind = query.kind, .year = query.year, .sort = query.sort}));
  });
}

std::vector<dlcost::Device> DevicesOf(const std::vector<Device>& devices) {
  std::vector<dlcost::Device> all;
  for (const Device& device : devices) all.push_back(device.state().device);
  return all;
}

}  // namespace dlcost::api
