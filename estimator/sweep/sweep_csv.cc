#include <fmt/format.h>

#include "estimator/report/csv_field.h"
#include "estimator/sweep/sweep_render.h"

namespace dlcost {
namespace {

std::string Number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}
std::string Number(const std::optional<Seconds>& value) {
  return value ? fmt::format("{}", value->value()) : "";
}

}  // namespace

std::optional<double> JoulesPerItem(const Sweep& sweep, const SweepPoint& point) {
  const std::optional<double> rate = point.items_per_second();
  if (!rate || *rate <= 0 || !sweep.devices[point.device].power) return std::nullopt;
  return sweep.devices[point.device].power->value() / *rate;
}

std::string SweepCsvHead(const Sweep& sweep) {
  std::string line = "device,dtype";
  for (const SweepAxis& axis : sweep.axes) line += "," + CsvField(axis.name);
  return line +
         ",items,tokens,macs,flops,bytes,intensity,memory_bytes,fits,bound_s,expected_s,"
         "expected_low_s,expected_high_s,items_per_s,tokens_per_s,watts,joules_per_item,joules_per_"
         "item_at_most,cost_per_"
         "million,limited_by,"
         "exact,error,runtime,precision,train\n";
}

std::string SweepCsvLine(const Sweep& sweep, const SweepRenderOptions& options,
                         const SweepPoint& point) {
  const SweepSetup& setup = sweep.setups[point.setup];
  const std::string how = CsvField(setup.report.runtime) + "," + CsvField(setup.precision) + "," +
                          CsvField(setup.train) + "\n";
  std::string line = sweep.devices.empty() ? "" : CsvField(sweep.devices[point.device].id);
  line += "," + CsvField(setup.dtype);
  for (const std::int64_t size : point.sizes) line += fmt::format(",{}", size);
  if (!point.why_not.empty()) {
    return line + std::string(20, ',') + "," + CsvField(point.why_not) + "," + how;
  }
  return line +
         fmt::format(",{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},,{}",
                     point.items, point.tokens ? fmt::format("{}", *point.tokens) : "", point.macs,
                     point.flops, point.bytes, Number(point.intensity()), point.needed,
                     point.fits ? (*point.fits ? "true" : "false") : "", Number(point.bound),
                     Number(point.expected), Number(point.expected_low),
                     Number(point.expected_high), Number(point.items_per_second()),
                     Number(point.tokens_per_second()), Number(point.watts),
                     Number(point.joules_per_item()), Number(JoulesPerItem(sweep, point)),
                     Number(options.price.empty() ? std::nullopt : options.CostOf(sweep, point)),
                     CsvField(point.limiter), point.exact ? "true" : "false", how);
}

}  // namespace dlcost
