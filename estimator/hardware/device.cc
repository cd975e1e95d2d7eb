#include "estimator/hardware/device.h"

namespace dlcost {

std::string_view Name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kGpu:
      return "gpu";
    case DeviceKind::kCpu:
      return "cpu";
    case DeviceKind::kTpu:
      return "tpu";
    case DeviceKind::kNpu:
      return "npu";
  }
  return "";
}

std::string_view Name(UnitKind unit) { return unit == UnitKind::kVector ? "vector" : "tensor"; }

const Rate* Device::FindRate(UnitKind unit, NumberFormat input, NumberFormat accumulate) const {
  for (const Rate& rate : rates) {
    if (rate.unit == unit && rate.input == input && rate.accumulate == accumulate) return &rate;
  }
  return nullptr;
}

const Rate* Device::FindRate(UnitKind unit, NumberFormat input) const {
  for (const Rate& rate : rates) {
    if (rate.unit == unit && rate.input == input) return &rate;
  }
  return nullptr;
}

const Fact* Device::FindFact(std::string_view path) const {
  for (const Fact& fact : facts) {
    if (fact.path == path) return &fact;
  }
  return nullptr;
}

std::optional<double> Device::Timing(const std::string& constant) const {
  const auto it = timing.find(constant);
  if (it == timing.end()) return std::nullopt;
  return it->second;
}

Bytes Device::WarmCapacity() const {
  Bytes total;
  for (const MemoryLevel& level : caches) {
    if (level.size) total += *level.size;
  }
  return total;
}

}  // namespace dlcost
