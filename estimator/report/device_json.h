#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "estimator/hardware/device.h"

namespace dlcost {

// What a device is, in base units (operations/s, bytes, Hz, W); null for what is not public.
// For the JSON writers only: other headers stay free of nlohmann.
nlohmann::ordered_json DeviceFactsJson(const Device& device);

// A measure, or null where there is none; the same for what is no measure.
template <typename T>
nlohmann::ordered_json ValueOrNull(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(value->value()) : nlohmann::ordered_json();
}
template <typename T>
nlohmann::ordered_json PlainOrNull(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

}  // namespace dlcost
