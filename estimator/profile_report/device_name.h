#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "estimator/hardware/device.h"

namespace dlcost {

// Whether a profile's name of a device ("Tesla P4 (0)", "NVIDIA A100-SXM4-80GB (0)") may be that of
// `device`: they share a model ("p4", "a100"), or the name tells none ("0", "GeForce GTX TIT").
// "cpu", as oneDNN calls its engine, is no GPU.
bool MayBe(std::string_view name, const Device& device);

// What to tell of a profile of `name` that is held against `device`: shares of another device's
// peaks are wrong numbers that look right. Nothing where it may be that device.
std::optional<std::string> OtherDeviceNote(std::string_view name, const Device& device);

}  // namespace dlcost
