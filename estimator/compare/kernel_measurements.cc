#include "estimator/compare/kernel_measurements.h"

#include <string>
#include <unordered_map>

namespace dlcost {

std::vector<KernelMeasurement> KernelMeasurements(const Comparison& comparison,
                                                  const Report& report) {
  std::unordered_map<std::string, KernelMeasurement> known;
  for (const CompareRow& row : comparison.rows) {
    known[row.kernel] = {row.measured.time, row.measured_flops, row.measured.dram_bytes};
  }
  std::vector<KernelMeasurement> measured;
  for (const KernelRow& kernel : report.kernels) {
    const auto found = known.find(kernel.id);
    measured.push_back(found == known.end() ? KernelMeasurement() : found->second);
  }
  return measured;
}

}  // namespace dlcost
