#pragma once

#include <nlohmann/json_fwd.hpp>

#include "estimator/hardware/device.h"

namespace dlcost {

// What a device is, in base units (operations/s, bytes, Hz, W); null for what is not public.
// For the JSON writers only: other headers stay free of nlohmann.
nlohmann::ordered_json DeviceFactsJson(const Device& device);

}  // namespace dlcost
