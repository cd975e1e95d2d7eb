// Holds the bounds and the expected times against tables of measured latencies:
//
//   accuracy measured/gemm.csv measured/conv.csv          # one line per device, source and type
//   accuracy --by type,size measured/attention.csv        # finer groups
//   accuracy --names measured/gemm.csv                    # how often the recorded kernel is named
//   accuracy --leave-one-out measured/gemm.csv            # each device as if it had no rows
//   accuracy --format json --hw my_devices/ table.csv

#include "estimator/calibrate/accuracy.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "estimator/calibrate/calibrate.h"
#include "estimator/calibrate/latency_case.h"
#include "estimator/calibrate/latency_table.h"
#include "estimator/calibrate/recorded_kernel.h"
#include "estimator/core/error.h"
#include "estimator/hardware/database.h"
#include "estimator/hardware/device.h"

namespace dlcost {
namespace {

// How the common constants are fitted again when a device is left out: enough to tell, within
// minutes for all devices.
constexpr double kFitShare = 0.4;
constexpr std::size_t kFitSample = 60;  // rows of each device, source, type and operator
constexpr int kFitSteps = 10;
constexpr std::size_t kFewestRows = 500;

// What belongs to the host that a framework runs on. Common values are the middle of the hosts that
// were measured: those of devices with a launch.host of their own.
constexpr Constant kHostConstants[] = {Constant::kLaunchHost, Constant::kLaunchCall,
                                       Constant::kLaunchProduct, Constant::kLaunchConv};

struct Options {
  std::vector<std::string> tables;
  std::vector<std::string> hardware;
  std::string format = "text";
  std::vector<std::string> by;
  std::vector<std::string> set;
  double longer_than = 0;  // us
  double fit_share = 0;    // rows that a calibration fitted are left out
  bool leave_one_out = false;
  bool rows = false;
  bool names = false;
};

using GroupKey = std::tuple<std::string, std::string, std::string, std::string, std::string,
                            std::string>;  // table, device, source, dtype, type, size

// How often the kernel is named that a profiler recorded.
struct Naming {
  int rows = 0, right = 0;
  int parted = 0, parts_right = 0;  // of those named right whose parts of k are recorded
};

struct Known {
  Device device;
  TimingDevice timing;
};

class Harness {
 public:
  explicit Harness(const Options& options) : options_(options) {
    std::vector<std::string> directories = options.hardware;
    directories.emplace_back(DLCOST_BUILD_HW_SPECS);
    database_ = std::make_unique<DeviceDatabase>(std::move(directories));
    for (const std::string& id : database_->Ids()) ids_.insert(id);
    for (const std::string& text : options.set) overrides_.push_back(ParseOverride(text));
  }

  void Read(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) tables_.push_back(ReadLatencyTable(path));
    if (!options_.leave_one_out) return AddRows("");
    std::set<std::string> measured;
    for (const LatencyTable& table : tables_) {
      for (const LatencyRow& row : table.rows) measured.insert(row.Text("device"));
    }
    for (const std::string& id : measured) {
      LeaveOut(id);
      AddRows(id);
    }
  }

  int Print() const {
    for (const auto& [why, count] : skipped_) {
      fmt::print(stderr, "skipped {} row{}: {}\n", count, count == 1 ? "" : "s", why);
    }
    if (options_.names) {
      PrintNames();
    } else if (options_.format == "json") {
      PrintJson();
    } else {
      PrintText();
    }
    return 0;
  }

 private:
  bool By(const char* what) const {
    return std::find(options_.by.begin(), options_.by.end(), what) != options_.by.end();
  }

  // The rows of one device, or of all.
  void AddRows(const std::string& only) {
    for (const LatencyTable& table : tables_) {
      for (const LatencyRow& row : table.rows) {
        if (!only.empty() && row.Text("device") != only) continue;
        try {
          Add(table, row);
        } catch (const Error& error) {
          throw error.At(table.Where(row));
        }
      }
    }
  }

  // Makes `id` a device that nobody has measured: what its rows gave is dropped, and the common
  // constants are fitted again to the rows of the vendor's other devices.
  void LeaveOut(const std::string& id) {
    devices_.clear();
    left_out_ = {id};
    const Known* out = Find(id);
    if (!out) return;
    std::vector<CalibrationRow> rows;
    for (const LatencyTable& table : tables_) {
      if (table.kind == LatencyKind::kRecurrent) continue;
      for (const LatencyRow& row : table.rows) {
        const std::string& other = row.Text("device");
        const Known* known = other == id || !IsFitRow(row, kFitShare) ? nullptr : Find(other);
        if (!known || known->device.vendor != out->device.vendor) continue;
        std::string why;
        std::optional<LatencyCase> c = MakeCase(table.kind, row, known->device, &why);
        // Libraries timed in a loop without a framework, years apart, belong to another population.
        if (c && !c->options.Calls() && row.Text("source") == "deepbench") continue;
        if (c) rows.push_back({std::move(*c), &known->timing});
      }
    }
    if (rows.size() < kFewestRows) return;
    std::vector<Constant> kept(std::begin(kHostConstants), std::end(kHostConstants));
    for (const ConstantDef& def : ConstantDefs()) {
      if (def.scope == ConstantScope::kTrait) kept.push_back(def.id);
    }
    CalibrationOptions fit;
    fit.iterations = kFitSteps;
    fit.prior = 1e-4;
    const Calibration common =
        Calibrate(Sample(rows, kFitSample), {}, TimingConstants(), kept, fit);
    // Ranges of devices that nobody measured are wider than those of the rows that were fitted.
    TimingConstants constants = common.values;
    for (const ConstantDef& def : ConstantDefs()) {
      if (def.name.starts_with("range.")) constants[def.id] = def.value;
    }
    for (const Constant host : kHostConstants) constants[host] = MiddleOfHosts(host);
    devices_.at(id)->timing.constants = TimingConstants(constants, out->device.timing);
  }

  // The common value of a host's constant: the median of the measured hosts that were looked up.
  double MiddleOfHosts(Constant id) const {
    std::vector<double> values;
    for (const auto& [name, known] : devices_) {
      if (known && known->device.timing.count(std::string(Def(Constant::kLaunchHost).name)) > 0) {
        values.push_back(known->timing[id]);
      }
    }
    return values.empty() ? Def(id).value : Quantile(values, 0.5);
  }

  const Known* Find(const std::string& id) {
    const auto it = devices_.find(id);
    if (it != devices_.end()) return it->second.get();
    std::unique_ptr<Known> known;
    if (ids_.count(id)) {
      Device device = database_->Find(id, overrides_, left_out_);
      if (device.memory.bandwidth) {
        TimingDevice timing = MakeTimingDevice(device);
        known = std::make_unique<Known>(Known{std::move(device), timing});
      }
    }
    return devices_.emplace(id, std::move(known)).first->second.get();
  }

  void Add(const LatencyTable& table, const LatencyRow& row) {
    const std::string& id = row.Text("device");
    const Known* known = Find(id);
    if (!known) {
      ++skipped_[fmt::format("no device '{}'", Printable(id, 60))];
      return;
    }
    if (row.Number("latency_us") < options_.longer_than) return;
    if (options_.fit_share > 0 && IsFitRow(row, options_.fit_share)) return;
    std::string why;
    const std::optional<LatencyCase> c = MakeCase(table.kind, row, known->device, &why);
    if (!c) {
      ++skipped_[fmt::format("{}: {}", id, why)];
      return;
    }
    if (options_.names) return AddName(table, row, known->timing, *c);
    const TimeRange time = ExpectedRange(known->timing, *c);
    groups_[{table.name, c->device, c->source, c->dtype, By("type") ? c->type : "",
             By("size") ? c->size : ""}]
        .push_back({c->measured, c->bound, c->naive, time.expected, time.low, time.high});
    if (options_.rows) {
      fmt::print("{}:{},{},{},{},{:.3f},{:.3f},{:.3f},{:.3f}\n", table.name, row.line, c->device,
                 c->source, c->type, c->measured * 1e6, c->bound * 1e6, time.expected * 1e6,
                 c->naive * 1e6);
    }
  }

  void AddName(const LatencyTable& table, const LatencyRow& row, const TimingDevice& timing,
               const LatencyCase& c) {
    const std::optional<RecordedKernel> recorded = RecordedBy(table.kind, row);
    if (!recorded) return;
    const RecordedKernel named = NamedBy(ExecutionOf(timing, c));
    const bool right = IsSameKernel(*recorded, named);
    Naming& naming = names_[{table.name, c.device, c.source, By("type") ? c.type : ""}];
    ++naming.rows;
    naming.right += right ? 1 : 0;
    if (right && recorded->parts > Count(0)) {
      ++naming.parted;
      naming.parts_right += recorded->parts == named.parts ? 1 : 0;
    }
    if (options_.rows) {
      fmt::print("{}:{},{},{},{},{},{},{},{}\n", table.name, row.line, c.device, c.source, c.type,
                 recorded->Text(), recorded->parts, named.Text(), named.parts);
    }
  }

  void PrintNames() const {
    if (options_.format == "json") {
      nlohmann::ordered_json out = nlohmann::ordered_json::array();
      for (const auto& [key, naming] : names_) {
        nlohmann::ordered_json row;
        row["table"] = std::get<0>(key);
        row["device"] = std::get<1>(key);
        row["source"] = std::get<2>(key);
        if (By("type")) row["type"] = std::get<3>(key);
        row["rows"] = naming.rows;
        row["named"] = naming.right;
        row["parts_known"] = naming.parted;
        row["parts"] = naming.parts_right;
        out.push_back(std::move(row));
      }
      fmt::print("{}\n", out.dump(2));
      return;
    }
    const auto line = [](std::string_view table, std::string_view device, std::string_view source,
                         std::string_view type, const Naming& naming) {
      const auto share = [](int part, int whole) {
        return whole == 0 ? std::string("-") : fmt::format("{:.1f}%", 100.0 * part / whole);
      };
      fmt::print("{:<6} {:<15} {:<16} {:<13} {:>6} {:>7} {:>7}\n", table, device, source, type,
                 naming.rows, share(naming.right, naming.rows),
                 share(naming.parts_right, naming.parted));
    };
    fmt::print("{:<6} {:<15} {:<16} {:<13} {:>6} {:>7} {:>7}\n", "table", "device", "source",
               By("type") ? "type" : "", "rows", "named", "parts");
    Naming all;
    for (const auto& [key, naming] : names_) {
      line(std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key), naming);
      all.rows += naming.rows;
      all.right += naming.right;
      all.parted += naming.parted;
      all.parts_right += naming.parts_right;
    }
    line("all", "", "", "", all);
  }

  void PrintText() const {
    std::size_t wide[6] = {5, 6, 6, 5, 4, 4};
    const char* heads[6] = {"table", "device", "source", "dtype", "type", "size"};
    const auto fields = [](const GroupKey& key) {
      return std::array<std::string, 6>{std::get<0>(key), std::get<1>(key), std::get<2>(key),
                                        std::get<3>(key), std::get<4>(key), std::get<5>(key)};
    };
    for (const auto& [key, rows] : groups_) {
      for (std::size_t i = 0; i < 6; ++i) wide[i] = std::max(wide[i], fields(key)[i].size());
    }
    const auto shown = [&](std::size_t i) {
      return i < 4 || (i == 4 && By("type")) || (i == 5 && By("size"));
    };
    for (std::size_t i = 0; i < 6; ++i) {
      if (shown(i)) fmt::print("{:<{}}  ", heads[i], wide[i]);
    }
    fmt::print("{:>6} {:>6} | {:>6} {:>7} {:>8} | {:>6} {:>6} {:>7} {:>6} {:>6} {:>6} | {:>6}\n",
               "rows", "below", "min", "median", "p90", "mape", "med", "bias", "p90", "in10%",
               "range", "naive");
    for (const auto& [key, rows] : groups_) {
      for (std::size_t i = 0; i < 6; ++i) {
        if (shown(i)) fmt::print("{:<{}}  ", fields(key)[i], wide[i]);
      }
      const Accuracy a = Summarize(rows);
      fmt::print(
          "{:>6} {:>6} | {:>6.3f} {:>7.2f} {:>8.2f} | {:>5.1f}% {:>5.1f}% {:>+6.1f}% {:>5.1f}% "
          "{:>5.1f}% {:>5.1f}% | {:>5.1f}%\n",
          a.rows, a.violations, a.ratio_min, a.ratio_median, a.ratio_p90, 100 * a.mape,
          100 * a.median_ape, 100 * a.bias, 100 * a.p90_ape, 100 * a.within_10,
          100 * a.range_coverage, 100 * a.naive_mape);
    }
  }

  void PrintJson() const {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const auto& [key, rows] : groups_) {
      const Accuracy a = Summarize(rows);
      nlohmann::ordered_json row;
      row["table"] = std::get<0>(key);
      row["device"] = std::get<1>(key);
      row["source"] = std::get<2>(key);
      row["dtype"] = std::get<3>(key);
      if (By("type")) row["type"] = std::get<4>(key);
      if (By("size")) row["size"] = std::get<5>(key);
      row["rows"] = a.rows;
      row["violations"] = a.violations;
      row["ratio_min"] = a.ratio_min;
      row["ratio_median"] = a.ratio_median;
      row["ratio_p90"] = a.ratio_p90;
      row["mape"] = a.mape;
      row["median_ape"] = a.median_ape;
      row["bias"] = a.bias;
      row["p90_ape"] = a.p90_ape;
      row["within_10"] = a.within_10;
      row["range_coverage"] = a.range_coverage;
      row["naive_mape"] = a.naive_mape;
      out.push_back(std::move(row));
    }
    fmt::print("{}\n", out.dump(2));
  }

  Options options_;
  std::unique_ptr<DeviceDatabase> database_;
  std::set<std::string> ids_;
  std::vector<std::pair<std::string, std::string>> overrides_;
  std::vector<LatencyTable> tables_;
  std::vector<std::string> left_out_;
  std::map<std::string, std::unique_ptr<Known>> devices_;
  std::map<GroupKey, std::vector<TimeComparison>> groups_;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, Naming>
      names_;  // table, device, source, type
  std::map<std::string, int> skipped_;
};

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Errors of bounds and expected times against measured latencies", "accuracy");
  app.add_option("tables", options.tables, "CSV tables (docs/measuring.md)")->required();
  app.add_option("--hw", options.hardware, "Directory with further devices; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--format", options.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  app.add_option("--by", options.by, "Finer groups: type, size")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"type", "size"}));
  app.add_option("--set", options.set, "Override a value of every device: timing.launch.graph=3us")
      ->allow_extra_args(false);
  app.add_option("--longer-than", options.longer_than, "Only rows of at least so many us");
  app.add_option("--held-out", options.fit_share,
                 "Leave out the rows that `dlcost calibrate --fit-share` with this share fits");
  app.add_flag("--leave-one-out", options.leave_one_out,
               "Time each device as one that nobody has measured: without what its rows gave; the "
               "common constants are fitted again to other devices' rows (takes minutes)");
  app.add_flag("--rows", options.rows,
               "Also print every row (us): measured, bound, expected, naive; with --names: the "
               "recorded tile and parts of k, and those that are named");
  app.add_flag(
      "--names", options.names,
      "Of the rows beside which a profiler recorded a kernel (columns kernel and grid), how "
      "many are named right: algorithm and tile, and of these the parts of k");
  CLI11_PARSE(app, argc, argv);
  Harness harness(options);
  harness.Read(options.tables);
  return harness.Print();
}

}  // namespace
}  // namespace dlcost

int main(int argc, char** argv) {
  try {
    return dlcost::Main(argc, argv);
  } catch (const dlcost::Error& error) {
    fmt::print(stderr, "accuracy: {}\n", error.what());
    return 2;
  }
}
