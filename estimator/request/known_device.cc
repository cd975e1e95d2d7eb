#include "estimator/request/known_device.h"

#include "estimator/core/error.h"

namespace dlcost {

std::optional<Device> KnownDevice(const Report& report, const DeviceOptions& options) {
  if (!report.device) return std::nullopt;
  DeviceOptions same = options;
  same.gpu = report.device->id;
  try {
    return FindDevice(same);
  } catch (const Error&) {
    return std::nullopt;  // a device of somebody else's: its roofs stay unknown
  }
}

}  // namespace dlcost
