#include "estimator/request/calibration.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "estimator/calibrate/latency_table.h"
#include "estimator/core/error.h"
#include "estimator/request/device_options.h"

namespace dlcost {
namespace {

// A constant as device files write it: times in us, the rest as plain numbers.
std::string Written(const ConstantDef& def, double value) {
  if (def.unit == "s") return fmt::format("{:.4g} us", value * 1e6);
  return fmt::format("{:.4g}", value);
}

std::string Score(const char* name, const Accuracy& a) {
  return fmt::format(
      "#   {:<22} {:>6} rows   mean {:>5.1f} %   median {:>5.1f} %   bias {:>+6.1f} %\n", name,
      a.rows, 100 * a.mape, 100 * a.median_ape, 100 * a.bias);
}

class Calibrator {
 public:
  explicit Calibrator(const CalibrationRequest& options) : options_(options) {
    const DeviceDatabase database = OpenDatabase();
    std::vector<std::pair<std::string, std::string>> overrides;
    for (const std::string& text : options.overrides) overrides.push_back(ParseOverride(text));
    for (const std::string& name : options.devices) {
      Device device = database.Find(name, overrides);
      TimingDevice timing = MakeTimingDevice(device);
      const std::string id = device.id;
      known_.emplace(id, Known{std::move(device), timing});
      if (names_.empty() && !options.common) start_ = timing.constants;
      names_.push_back(id);
    }
    for (const std::string& name : options.fixed) {
      const std::optional<Constant> constant = FindConstant(name);
      if (!constant) throw Error("--keep: no constant is called '{}'", Printable(name));
      fixed_.push_back(*constant);
    }
    const ConstantScope kept = options.common ? ConstantScope::kTrait : ConstantScope::kUniversal;
    for (const ConstantDef& def : ConstantDefs()) {
      if (def.scope == kept) fixed_.push_back(def.id);
    }
  }

  void Read(const std::string& path) {
    const LatencyTable table = ReadLatencyTable(path);
    bool used = false;
    for (const LatencyRow& row : table.rows) {
      try {
        used |= Add(table.kind, row);
      } catch (const Error& error) {
        throw error.At(table.Where(row));
      }
    }
    if (used) files_.push_back(std::filesystem::path(path).filename().string());
  }

  DeviceCalibration Run() {
    if (fit_rows_.empty()) ThrowNoRows();
    if (options_.sample > 0) fit_rows_ = Sample(fit_rows_, options_.sample);
    return {.devices = names_,
            .files = files_,
            .fitted_rows = fit_rows_.size(),
            .held_out_rows = held_out_.size(),
            .start = start_,
            .result = Calibrate(fit_rows_, held_out_, start_, fixed_, options_.fit)};
  }

 private:
  struct Known {
    Device device;
    TimingDevice timing;
  };

  bool Add(LatencyKind kind, const LatencyRow& row) {
    const auto known = known_.find(row.Text("device"));
    if (known == known_.end()) {
      others_.insert(row.Text("device"));
      return false;
    }
    std::string why;
    std::optional<LatencyCase> c = MakeCase(kind, row, known->second.device, &why);
    if (c && !options_.sources.empty() &&
        std::find(options_.sources.begin(), options_.sources.end(), c->source) ==
            options_.sources.end()) {
      why = fmt::format("source '{}' was not asked for", Printable(c->source));
      c.reset();
    }
    if (!c) {
      left_out_.insert(std::move(why));
      return false;
    }
    auto& rows = IsFitRow(row, options_.fit_share) ? fit_rows_ : held_out_;
    rows.push_back({std::move(*c), &known->second.timing});
    return true;
  }

  [[noreturn]] void ThrowNoRows() const {
    const std::string names = fmt::format("{}", fmt::join(names_, ", "));
    if (!held_out_.empty()) throw Error("too few rows of {} to fit any", names);
    if (!left_out_.empty()) {
      throw Error("no row of {} can be fitted: {}", names, fmt::join(left_out_, "; "));
    }
    if (others_.empty()) throw Error("the tables have no rows");
    std::string others;
    for (const std::string& other : others_) {
      others += (others.empty() ? "" : ", ") + Printable(other);
    }
    throw Error("no row of the tables is of {}; they are of {}", names, others);
  }

  const CalibrationRequest& options_;
  std::map<std::string, Known> known_;
  // Devices of rows that were not asked for; why rows of those that were were left out.
  std::set<std::string> others_, left_out_;
  std::vector<std::string> names_, files_;
  TimingConstants start_;
  std::vector<Constant> fixed_;
  std::vector<CalibrationRow> fit_rows_, held_out_;
};

}  // namespace

DeviceCalibration CalibrateDevices(const CalibrationRequest& request) {
  if (request.devices.empty()) throw Error("which device is it? --gpu NAME");
  if (!(request.fit_share > 0 && request.fit_share <= 1)) {
    throw Error("--fit-share: {} is no share of the rows; give 0.4, or 1 for all",
                request.fit_share);
  }
  if (request.fit.iterations < 1 || request.fit.iterations > 1000) {
    throw Error("--iterations {}: 1 to 1000", request.fit.iterations);
  }
  if (!(request.fit.prior >= 0 && request.fit.prior <= 1)) {
    throw Error("--prior {}: 0 to 1", request.fit.prior);
  }
  Calibrator calibrator(request);
  for (const std::string& table : request.tables) calibrator.Read(table);
  return calibrator.Run();
}

std::string TimingYaml(const DeviceCalibration& calibration) {
  const Calibration& result = calibration.result;
  std::string out = fmt::format(
      "# Time-model constants of {}, fitted by `dlcost calibrate` to {} of {} rows of {}\n"
      "# (a hash of the row chooses them; the others are held out). Errors of expected times:\n",
      fmt::join(calibration.devices, ", "), calibration.fitted_rows,
      calibration.fitted_rows + calibration.held_out_rows, fmt::join(calibration.files, ", "));
  out += Score("held out, before", result.before);
  out += Score("held out, fitted", result.held_out);
  out += Score("rows of the fit", result.fitted);
  for (const FittedConstant& c : result.refused) {
    const ConstantDef& def = Def(c.constant);
    out += fmt::format("# refused: {} ran to {}, an end of its range, and stays {}\n", def.name,
                       Written(def, c.value), Written(def, c.start));
  }
  out += "timing:\n";
  for (const FittedConstant& c : result.constants) {
    const ConstantDef& def = Def(c.constant);
    out += fmt::format("  {:<28} {:<12} # +- {:.1f} %\n", fmt::format("{}:", def.name),
                       Written(def, c.value), 100 * c.relative_error);
  }
  for (const Constant range :
       {Constant::kRangeGemm, Constant::kRangeBatched, Constant::kRangeAttention,
        Constant::kRangeDecode, Constant::kRangeConv, Constant::kRangeElementwise}) {
    if (result.values[range] == calibration.start[range]) continue;
    out +=
        fmt::format("  {:<28} {:.4g}\n", fmt::format("{}:", Def(range).name), result.values[range]);
  }
  return out;
}

}  // namespace dlcost
