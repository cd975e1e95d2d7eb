#include "estimator/roofline/timing_device.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "estimator/core/error.h"
#include "estimator/hardware/device.h"
#include "estimator/roofline/choose.h"
#include "estimator/roofline/time_range.h"

namespace dlcost {
namespace {

// Data that passes through a cache in turns is all there while it fits, and all gone when it is
// this share larger: lines are replaced in about the order in which they come again.
constexpr double kFade = 0.2;

// Energy of a product of 8-bit integers over that of 8-bit floats. Moving operands costs both the
// same, half of what 16 bits cost; a matrix instruction's arithmetic costs a fifth of it (W. Dally,
// keynotes of 2021 to 2023: 110 pJ for the 128 FLOP of an HMMA, 160 pJ for the 1024 of an IMMA). A
// third of a board's energy is taken for arithmetic: (2/3 * 1/2 + 1/3 * 1/5) / (1/2).
constexpr double kIntegerEnergy = 0.8;

double HeldShare(const TimingDevice& device, double touched) {
  if (device.cache <= 0) return 0;
  const double turns = touched / (device.cache * device[Constant::kCacheShare]);
  return std::clamp(1 - (turns - 1) / kFade, 0.0, 1.0);
}

}  // namespace

TimingDevice MakeTimingDevice(const Device& device) {
  TimingDevice result;
  if (!device.memory.bandwidth) {
    throw Error("{}: no memory bandwidth is listed, so there is no expected time", device.id);
  }
  if (!device.units) {
    throw Error("{}: no number of units is listed, so there is no expected time", device.id);
  }
  result.units = *device.units;
  const auto& clock = device.max_clock ? device.max_clock : device.boost_clock;
  result.clock = clock ? clock->value() : 1e9;
  if (device.per_unit.threads) result.threads = *device.per_unit.threads;
  result.memory_rate = device.memory.bandwidth->value();
  result.cache = device.WarmCapacity().AsDouble();
  if (!device.caches.empty() && device.caches.back().sustained) {
    result.cache_read = device.caches.back().sustained->value();
  }
  if (device.power) result.power = device.power->value();
  if (device.process) result.process = *device.process;
  result.constants = TimingConstants(device.timing);
  result.library = &LibraryOf(device);
  return result;
}

double MissShare(const TimingDevice& device, const Conditions& conditions, double touched) {
  return 1 - conditions.kept_rest * HeldShare(device, touched);
}

double WeightMissShare(const TimingDevice& device, const Conditions& conditions, double touched) {
  return 1 - conditions.kept_weights * HeldShare(device, touched);
}

double EnergyWidth(DType type) {
  const int bits = std::max(Bits(type), 4);
  return bits / 8.0 * (bits <= 8 && !IsFloat(type) ? kIntegerEnergy : 1);
}

double PowerLimit(const TimingDevice& device, bool tensor, double energy_width) {
  if (device.power <= 0 || device.process <= 0) return std::numeric_limits<double>::infinity();
  // Vector units: arithmetic, which shrinks with the process. Matrix units: mostly moving operands,
  // over wires that do not.
  const double energy = tensor ? device[Constant::kPowerTensor] * std::min(energy_width, 4.0) / 2
                               : device[Constant::kPowerVector] * device.process * energy_width / 4;
  return device.power / (energy * 1e-12);
}

double UnderPower(const TimingDevice& device, const PoweredWork& work) {
  const double limit = PowerLimit(device, work.tensor, work.energy_width);
  const double hot = work.tensor ? work.flops / limit : work.seconds * work.rate / limit;
  if (hot <= work.seconds) return work.seconds;
  if (work.steady) return hot;
  const double cooled = 1 - std::exp(-work.seconds / device[Constant::kBurstTime]);
  return work.seconds + (hot - work.seconds) * cooled;
}

double CacheRate(const TimingDevice& device) {
  return device.units * device.clock * device[Constant::kCacheRate];
}

double CacheReadRate(const TimingDevice& device) {
  return std::max(CacheRate(device), device.cache_read);
}

double RoundUp(double value, double multiple) { return std::ceil(value / multiple) * multiple; }

double Overlap(double p, double a, double b, double c) {
  const double longest = std::max({a, b, c});
  if (longest <= 0) return 0;
  // Scaled by the longest, so that no power underflows; powers of 0 and 1 cost a comparison.
  const auto power = [&](double x) {
    return x == longest ? 1 : x > 0 ? std::pow(x / longest, p) : 0;
  };
  const double sum = power(a) + power(b) + power(c);
  return sum == 1 ? longest : longest * std::pow(sum, 1 / p);
}

TimeRange WithRange(double expected, double log_range, double bound) {
  const double middle = std::max(expected, bound);
  return {std::max(middle * std::exp(-log_range), bound), middle, middle * std::exp(log_range)};
}

}  // namespace dlcost
