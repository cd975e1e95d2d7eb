#include <fmt/format.h>

#include <deque>
#include <filesystem>
#include <map>

#include "estimator/calibrate/calibrate.h"
#include "estimator/calibrate/latency_table.h"
#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/core/error.h"

namespace dlcost {
namespace {

struct Options {
  std::vector<std::string> devices, tables, fixed, sources, overrides;
  CalibrationOptions fit;
  double fit_share = 0.4;
  std::size_t sample = 0;
  bool common = false;
  std::string output;
};

constexpr const char* kExamples =
    "Examples:\n"
    "  dlcost calibrate --gpu ./my_chip.yaml --measured gemm.csv -o timing.yaml\n"
    "  dlcost calibrate --gpu v100-pcie-32gb,v100-sxm2-16gb --measured gemm.csv,conv.csv\n"
    "The output is a `timing:` section for the device's file in hw_specs/.\n";

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
  explicit Calibrator(const Options& options) : options_(options) {
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

  std::string Run() {
    if (fit_rows_.empty()) {
      throw Error("no row of the tables is of {}", fmt::join(names_, ", "));
    }
    if (options_.sample > 0) fit_rows_ = Sample(fit_rows_, options_.sample);
    const Calibration result = Calibrate(fit_rows_, held_out_, start_, fixed_, options_.fit);
    std::string out = fmt::format(
        "# Time-model constants of {}, fitted by `dlcost calibrate` to {} of {} rows of {}\n"
        "# (a hash of the row chooses them; the others are held out). Errors of expected times:\n",
        fmt::join(names_, ", "), fit_rows_.size(), fit_rows_.size() + held_out_.size(),
        fmt::join(files_, ", "));
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
      if (result.values[range] == start_[range]) continue;
      out += fmt::format("  {:<28} {:.4g}\n", fmt::format("{}:", Def(range).name),
                         result.values[range]);
    }
    return out;
  }

 private:
  struct Known {
    Device device;
    TimingDevice timing;
  };

  bool Add(LatencyKind kind, const LatencyRow& row) {
    const auto known = known_.find(row.Text("device"));
    if (known == known_.end()) return false;
    std::string why;
    std::optional<LatencyCase> c = MakeCase(kind, row, known->second.device, &why);
    if (!c) return false;
    if (!options_.sources.empty() && std::find(options_.sources.begin(), options_.sources.end(),
                                               c->source) == options_.sources.end()) {
      return false;
    }
    auto& rows = IsFitRow(row, options_.fit_share) ? fit_rows_ : held_out_;
    rows.push_back({std::move(*c), &known->second.timing});
    return true;
  }

  const Options& options_;
  std::map<std::string, Known> known_;
  std::vector<std::string> names_, files_;
  TimingConstants start_;
  std::vector<Constant> fixed_;
  std::vector<CalibrationRow> fit_rows_, held_out_;
};

int Run(const Options& options) {
  if (!(options.fit_share > 0 && options.fit_share <= 1)) {
    throw Error("--fit-share: {} is no share of the rows; give 0.4, or 1 for all",
                options.fit_share);
  }
  Calibrator calibrator(options);
  for (const std::string& table : options.tables) calibrator.Read(table);
  WriteOutput(options.output, calibrator.Run());
  return 0;
}

}  // namespace

void AddCalibrateCommand(Commands& commands) {
  CLI::App* app = commands.app.add_subcommand(
      "calibrate", "fit the time model's constants of a device to measured latencies");
  app->footer(kExamples);
  auto options = std::make_shared<Options>();
  app->add_option("--gpu", options->devices,
                  "Device, or devices of one architecture, to fit together")
      ->required()
      ->delimiter(',')
      ->allow_extra_args(false);
  app->add_option("--measured", options->tables, "Tables of measured latencies (CSV)")
      ->required()
      ->delimiter(',')
      ->allow_extra_args(false);
  app->add_option("--source", options->sources, "Only rows of these sources")
      ->delimiter(',')
      ->allow_extra_args(false);
  app->add_option("--sample", options->sample,
                  "Fit at most so many rows of each device, source, type and operator");
  app->add_flag("--common", options->common,
                "Fit the constants that architectures share to all the devices at once; each keeps "
                "its own for the others");
  app->add_option("--prior", options->fit.prior,
                  "How strongly constants are held at where they start")
      ->check(CLI::Range(0.0, 1.0));
  app->add_option("--keep", options->fixed, "Constants that are not fitted")
      ->delimiter(',')
      ->allow_extra_args(false);
  app->add_option("--set", options->overrides, "Start from another value: timing.launch.graph=3us")
      ->allow_extra_args(false);
  app->add_option("--fit-share", options->fit_share,
                  "Share of the rows that is fitted; the rest scores the fit");
  app->add_option("--iterations", options->fit.iterations, "Most steps of the fit")
      ->check(CLI::Range(1, 1000));
  app->add_option("-o,--output", options->output, "File to write; standard output if none");
  app->callback([&commands, options] { commands.run = [options] { return Run(*options); }; });
}

}  // namespace dlcost
