#pragma once

#include <optional>

#include "estimator/hardware/device.h"
#include "estimator/profiles/measurement.h"

namespace dlcost {

// What a profile is held against. Without a device, only what needs none is told.
struct ProfileReportOptions {
  const Device* device = nullptr;
  // Of FLOPs whose type the file does not tell; nothing: they have no share of peak.
  std::optional<NumberFormat> format;
};

// A type of arithmetic that somebody names with an option; throws Error for what is none.
NumberFormat ReadFlopFormat(const std::string& option, const std::string& name);

// What the counters of one row say of all its launches together. Nothing where the file carries no
// such counter: unknown is never zero.
struct RowWork {
  std::optional<double> time;       // seconds
  std::optional<double> flops;      // of vector and matrix pipes, as far as counted
  bool flops_at_least = false;      // the matrix pipe worked, and no counter tells its FLOPs
  std::optional<double> bytes;      // that device memory read and wrote; of a copy: moved
  std::optional<double> byte_rate;  // bytes per second, where a counter tells it
  // Seconds that the counted arithmetic and traffic need at the device's peaks; nothing without a
  // device, or where it has no rate for a type.
  std::optional<double> compute_least, memory_least;
};
RowWork WorkOf(const MeasuredKernel& row, const ProfileReportOptions& options);

}  // namespace dlcost
