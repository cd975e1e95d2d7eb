#pragma once

#include <optional>

#include "estimator/report/report.h"
#include "estimator/request/device_options.h"

namespace dlcost {

// The device of a report that was read, with its roofs and sources, if the database still knows it.
// What `options` say besides which one holds for it, too.
std::optional<Device> KnownDevice(const Report& report, const DeviceOptions& options = {});

}  // namespace dlcost
