#include "estimator/hardware/core_machine.h"

#include <algorithm>

#include "estimator/hardware/device.h"

namespace dlcost {
namespace {

constexpr double kSmallestL1 = 32 * 1024, kSmallestL2 = 256 * 1024;

double SizeOf(const Device& device, const char* level) {
  for (const MemoryLevel& cache : device.caches) {
    if (cache.name == level && cache.size) return cache.size->AsDouble();
  }
  return 0;
}

// Documents rate the highest turbo clock, which no core holds while all are busy in wide vectors:
// what all sustain lies near the base clock.
double Sustained(const Device& device) {
  const auto& clock = device.base_clock ? device.base_clock : device.boost_clock;
  return clock ? clock->value() : 1e9;
}

}  // namespace

Cores CoresOf(const Device& device) {
  Cores cores{.machine = *device.cores, .count = std::max(1, device.units.value_or(1))};
  cores.clock = Sustained(device);
  const Rate* fp32 = device.FindRate(UnitKind::kVector, NumberFormat::kFp32);
  for (const UnitRate& rate : device.unit_rates) {
    if (rate.unit != UnitKind::kVector || rate.input != NumberFormat::kFp32) continue;
    cores.vector_per_clock = rate.per_clock / 2 / cores.lanes();
    if (fp32 == nullptr) continue;
    const double rated = fp32->peak.value() / cores.count / rate.per_clock;
    if (!device.base_clock && !device.boost_clock) cores.clock = rated;
    cores.clock_share = std::min(1.0, cores.clock / rated);
  }
  cores.l1 = device.per_unit.l1 ? device.per_unit.l1->AsDouble() : kSmallestL1;
  cores.l2 = std::max(kSmallestL2, SizeOf(device, "L2") / cores.count);
  cores.l3 = SizeOf(device, "L3");
  return cores;
}

}  // namespace dlcost
