#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "estimator/report/report.h"

namespace dlcost {

// One model on one of several devices.
struct DeviceRow {
  std::string id, name;
  // The documents list a rate for every matrix product of the model. Otherwise there is no time to
  // compare: what is unknown is not left out of a sum.
  bool comparable = true;
  Sums totals;
  Doubt doubt;                          // of the totals
  Seconds expected_low, expected_high;  // see Report
  TimingBasis basis = TimingBasis::kAssumed;
  std::optional<Bytes> memory;  // of the device
  std::vector<GroupRow> by_op;
  std::vector<std::string> notes;

  // The expected time where there is one, else the bound.
  Seconds time() const { return totals.expected.value_or(totals.bound); }
};

struct DeviceComparison {
  ModelFacts model;
  ReportOptions options;
  Bytes peak_activation_bytes;
  Certainty certainty;                 // of the counts, which are the same on all devices
  Sums totals;                         // the same, for what the certainty is a part of
  std::vector<std::string> operators;  // of the first device's by_op, in its order
  std::vector<DeviceRow> devices;
  std::size_t hidden = 0;  // devices of the ranking that a cut left out
  std::vector<UnknownRow> unknown;
  std::vector<std::string> notes;  // of the model

  // Weights and activations: what has to fit into a device's memory.
  Bytes needed() const { return model.weight_bytes + peak_activation_bytes; }
};

// Puts devices side by side, in the given order or, `ranked`, fastest first (those without a time
// last). `top` keeps the first ones, 0: all. `done` is called behind each device.
DeviceComparison CompareDevices(const InferredModel& model, const std::vector<Device>& devices,
                                const ReportOptions& options, bool ranked, std::size_t top = 0,
                                const std::function<void()>& done = nullptr);

// At most `max_width` columns wide, 0: any number.
std::string ComparisonText(const DeviceComparison& comparison, std::size_t max_width = 0);
// {"schema": "dlcost.comparison/1", ...}
std::string ComparisonJson(const DeviceComparison& comparison);
// One line per device.
std::string ComparisonCsv(const DeviceComparison& comparison);

}  // namespace dlcost
