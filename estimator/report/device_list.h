#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/hardware/device.h"

namespace dlcost {

// Which devices `dlcost gpus` lists, and in which order.
struct DeviceFilter {
  std::string vendor;       // case ignored; empty for all
  std::string kind;         // "gpu", "cpu", "tpu", "npu"; empty for all
  std::string year;         // "2022", "2020-2023", "2020-" or "-2018"; empty for all
  std::string sort = "id";  // one of DeviceSortKeys(); numbers from high to low
};

std::vector<std::string> DeviceSortKeys();

// The devices that pass, sorted. Errors for a vendor that no device has, an unknown kind or sort
// key (nearest spelling) and a year that is none.
std::vector<Device> SelectDevices(std::vector<Device> devices, const DeviceFilter& filter);

// One line per device, columns aligned; peaks are the dense roofs of matrix products by data type.
std::string DeviceListText(const std::vector<Device>& devices, std::size_t max_width = 0);
// {"schema": "dlcost.devices/1", "devices": [...]}; rates in operations/s, sizes in bytes.
std::string DeviceListJson(const std::vector<Device>& devices);

// Everything about one device: what runs each data type and from which intensity on it is bound by
// arithmetic, every value with its document, what other documents say, notes.
std::string DeviceText(const Device& device, std::size_t max_width = 0);
// The same as one object {"schema": "dlcost.device/1", ...}.
std::string DeviceJson(const Device& device);

}  // namespace dlcost
