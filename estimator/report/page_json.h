#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "estimator/hardware/device.h"

namespace dlcost {

// What pages with charts share, whatever they show. Not for headers that others include.

// The page in page/ with its data filled in: {"title": ..., "reports": [...]}. Names in it cannot
// inject anything.
std::string RenderPage(const std::string& title, const nlohmann::ordered_json& data);

// {"compute": [...], "memory": [...]}; both empty without a device. `is_used` is asked with names
// such as "tensor fp16".
nlohmann::ordered_json DeviceRoofsJson(const Device* device,
                                       const std::function<bool(const std::string&)>& is_used);
// {"name": ..., "facts": [...]}
nlohmann::ordered_json DeviceFactsJson(const Device* device);

}  // namespace dlcost
