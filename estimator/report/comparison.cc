#include "estimator/report/comparison.h"

#include <algorithm>

#include "estimator/hardware/roof.h"

namespace dlcost {
namespace {

bool HasAllMatrixRates(const Device& device, const Report& report) {
  for (const Work::Entry& entry : report.totals.work.entries()) {
    const Count macs = entry.counts[static_cast<std::size_t>(OpClass::kMac)];
    if (macs == Count(0)) continue;
    if (!FindRoof(device, WorkKind::kMatrix, entry.dtype, report.options.run.math).known) {
      return false;
    }
  }
  return true;
}

}  // namespace

DeviceComparison CompareDevices(const InferredModel& model, const std::vector<Device>& devices,
                                const ReportOptions& options, bool ranked, std::size_t top,
                                const std::function<void()>& done) {
  DeviceComparison comparison;
  const Plan plan = MakePlan(model, options.plan);
  for (const Device& device : devices) {
    Report report = BuildReport(model, device, options, plan);
    DeviceRow row;
    row.id = device.id;
    row.name = device.name;
    row.comparable = HasAllMatrixRates(device, report);
    row.totals = report.totals;
    row.doubt = report.certainty.doubt;
    row.expected_low = report.expected_low;
    row.expected_high = report.expected_high;
    row.basis = report.device->basis;
    row.memory = device.memory.size;
    row.by_op = std::move(report.by_op);
    // Those of the model are said once.
    for (std::string& note : report.notes) {
      if (std::find(model.notes.begin(), model.notes.end(), note) == model.notes.end()) {
        row.notes.push_back(std::move(note));
      }
    }
    if (comparison.devices.empty()) {
      comparison.model = std::move(report.model);
      comparison.options = report.options;
      comparison.peak_activation_bytes = report.peak_activation_bytes;
      comparison.certainty = std::move(report.certainty);
      // Times are of one device: only counts are said for all.
      comparison.certainty.doubt.at_most.time = comparison.certainty.doubt.assumed.time = Seconds();
      comparison.totals = report.totals;
      comparison.unknown = std::move(report.unknown);
      comparison.notes = model.notes;
    }
    comparison.devices.push_back(std::move(row));
    if (done) done();
  }
  if (ranked) {
    std::stable_sort(comparison.devices.begin(), comparison.devices.end(),
                     [](const DeviceRow& a, const DeviceRow& b) {
                       if (a.comparable != b.comparable) return a.comparable;
                       return a.comparable && a.time() < b.time();
                     });
  }
  if (top != 0 && top < comparison.devices.size()) {
    comparison.hidden = comparison.devices.size() - top;
    comparison.devices.resize(top);
  }
  if (!comparison.devices.empty()) {
    for (const GroupRow& group : comparison.devices.front().by_op) {
      comparison.operators.push_back(group.name);
    }
  }
  return comparison;
}

}  // namespace dlcost
