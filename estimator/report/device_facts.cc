#include "estimator/report/device_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "estimator/report/format.h"
#include "estimator/roofline/timing_device.h"

namespace dlcost {
namespace {

std::string NoteOf(TimingBasis basis, const Device& device) {
  const bool inherited = basis == TimingBasis::kInherited;
  std::vector<std::string> from = device.calibrated_on;
  if (from.empty()) from = device.timing_neighbours;
  return fmt::format(
      "expected times are {}: no kernel was measured on {}{}", Name(basis), device.id,
      inherited ? fmt::format(", but on {}", fmt::join(from, ", ")) : std::string(" or its like"));
}

class DeviceTeller {
 public:
  DeviceTeller(const Device& device, const RunSequence& runs, const std::set<MathMode>& modes,
               Report& report)
      : device_(device), runs_(runs), modes_(modes), report_(report) {}

  void Run() {
    DeviceFacts facts;
    facts.id = device_.id;
    facts.name = device_.name;
    facts.bandwidth = device_.memory.bandwidth;
    facts.memory = device_.memory.size;
    facts.units = std::max(1, device_.units.value_or(1));
    facts.basis = BasisOf(device_);
    if (report_.totals.expected && facts.basis != TimingBasis::kMeasured) {
      report_.notes.push_back(NoteOf(facts.basis, device_));
    }
    if (!device_.units) {
      report_.notes.push_back(
          "the device's file gives no number of units, as in 'units: {count: 108}': bounds "
          "alone, no expected times");
    }
    if (WeightsStay(device_, runs_.options().ForBound())) {
      report_.notes.push_back(fmt::format(
          "the {} of weights stay on the chip from run to run, which holds {}: --cache cold starts "
          "without",
          ReadableBytes(runs_.options().weights), ReadableBytes(device_.WarmCapacity())));
    }
    const auto add = [&](WorkKind kind, DType type, MathMode mode) {
      const Roof roof = FindRoof(device_, kind, type, mode);
      if (!roof.known) return;
      const std::string name = std::string(Name(roof.unit)) + " " + std::string(Name(roof.input));
      for (const auto& known : facts.roofs) {
        if (known.name == name) return;
      }
      facts.roofs.push_back({name, roof.peak, RidgePoint(device_, roof)});
      NoteClock(roof, type, name);
    };
    for (const Work::Entry& entry : report_.totals.work.entries()) {
      if (entry.counts[0] == Count(0)) continue;
      for (const MathMode mode : modes_) add(WorkKind::kMatrix, entry.dtype, mode);
    }
    for (const Work::Entry& entry : report_.totals.work.entries()) {
      if (IsFloat(entry.dtype)) add(WorkKind::kVector, entry.dtype, MathMode::kDefault);
    }
    report_.device = std::move(facts);
  }

 private:
  // Which state of its clock the expected times are for, where its power makes a difference.
  void NoteClock(const Roof& roof, DType type, const std::string& name) {
    if (!report_.totals.expected || device_.systolic || device_.cores ||
        runs_.timing() == nullptr) {
      return;
    }
    const double sustained =
        PowerLimit(*runs_.timing(), roof.unit == UnitKind::kTensor, EnergyWidth(type));
    if (report_.options.run.rested || sustained >= roof.peak.value()) return;
    report_.notes.push_back(fmt::format(
        "expected times are those of a board that has been at work for long: its {:.4g} W sustain "
        "{} of the {} that {} units have at full clock",
        runs_.timing()->power, ReadableRate(sustained, OperationUnit(name)),
        ReadableRate(roof.peak.value(), OperationUnit(name)), name));
  }

  const Device& device_;
  const RunSequence& runs_;
  const std::set<MathMode>& modes_;  // of the products that run
  Report& report_;
};

}  // namespace

void AddDeviceFacts(const Device& device, const RunSequence& runs, const std::set<MathMode>& modes,
                    Report& report) {
  DeviceTeller(device, runs, modes, report).Run();
}

}  // namespace dlcost
