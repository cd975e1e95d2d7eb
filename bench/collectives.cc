// How well collectives are timed: bench/collectives MEASURED... prints, per system and family of
// links, the median error of rows that no fit saw; --fit prints constants fitted to the others.
// MEASURED: tables of latencies as in measured/collective.csv and measured/runs/allreduce.csv.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "estimator/collective/fit_links.h"
#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/hardware/database.h"
#include "estimator/profiles/columns.h"
#include "estimator/profiles/input.h"
#include "estimator/system/system_database.h"

namespace dlcost {
namespace {

// The systems that rows were measured on, by what their tables call the device.
struct Place {
  const char* device;
  const char* system;
  const char* library;  // that the row's `software` starts with
};
constexpr Place kPlaces[] = {
    {"a100-sxm4-80gb", "dgx-a100-80gb", ""},
    {"h100-sxm5", "dgx-h100", ""},
    {"l40s", "l40s-server", "nccl"},
    {"a100_sxm", "dgx-a100-80gb", "nccl"},
    {"h100_sxm", "dgx-h100", "nccl"},
    {"A100-SXM4-80GB (p4de.24xlarge)", "aws-p4de-24xlarge", ""},
    {"H100-SXM5 (p5.48xlarge)", "aws-p5-48xlarge", ""},
};

// Every other size of a collective and a number of devices is held out, so that a repeated
// measurement stays on one side.
void HoldOutHalf(std::vector<MeasuredCollective>& rows) {
  const auto key = [](const MeasuredCollective& row) {
    return std::tuple(row.call.op, row.call.group.size, row.call.bytes);
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
  bool held_out = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && key(rows[i]) != key(rows[i - 1])) held_out = !held_out;
    rows[i].held_out = held_out;
  }
}

class Rows {
 public:
  explicit Rows(const SystemDatabase& systems) : systems_(systems) {}

  void Read(const std::string& path) {
    Input input = Input::OpenFile(path);
    CsvReader csv(input);
    CsvRow row;
    if (!csv.Next(row)) throw Error("{}: empty", path);
    const Columns columns(row.fields);
    while (csv.Next(row)) Take(columns, row);
  }
  std::map<std::string, std::vector<MeasuredCollective>>& by_system() { return rows_; }
  System& system(const std::string& id) {
    const auto known = loaded_.find(id);
    return known != loaded_.end() ? known->second
                                  : loaded_.emplace(id, systems_.Find(id)).first->second;
  }

 private:
  void Take(const Columns& columns, const CsvRow& row) {
    const auto text = [&](std::initializer_list<std::string_view> names) {
      return columns.Text(row, names);
    };
    const auto number = [&](std::initializer_list<std::string_view> names) {
      const std::string& field = columns.Text(row, names);
      return field.empty() ? 0.0 : std::strtod(field.c_str(), nullptr);
    };
    for (const Place& place : kPlaces) {
      if (text({"device"}) != place.device) continue;
      if (columns.Has({"software"}) && !text({"software"}).starts_with(place.library)) continue;
      System& where = system(place.system);
      CollectiveCall call;
      std::string op = text({"op"});
      if (op == "alltoall") op = "all_to_all";
      call.op = ParseCollectiveOp(op);
      call.group.size = Truncate<int>(number({"gpus", "n_devices"}));
      const double width = text({"dtype"}) == "int8" ? 1 : 2;
      const double bytes = number({"bytes"});
      call.bytes = Bytes(Truncate(bytes > 0 ? bytes : number({"elements"}) * width));
      double seconds = number({"latency_us"}) * 1e-6;
      if (columns.Has({"metric"})) {
        if (text({"metric"}) != "latency") return;
        seconds = number({"value"}) * (text({"unit"}) == "us" ? 1e-6 : 1e-3);
      }
      if (call.bytes.value() <= 0 || seconds <= 0) return;
      rows_[place.system].push_back({&where, call, Seconds(seconds), false});
      return;
    }
  }

  const SystemDatabase& systems_;
  std::map<std::string, System> loaded_;
  std::map<std::string, std::vector<MeasuredCollective>> rows_;
};

std::string PercentOrDash(const std::optional<double>& error) {
  return error ? fmt::format("{:.1f} %", *error * 100) : "-";
}

int Main(int argc, char** argv) {
  CLI::App app("How well collectives are timed: median error of rows that no fit saw",
               "collectives");
  std::vector<std::string> paths;
  bool fit = false;
  app.add_option("measured", paths, "tables of measured collectives")->required();
  app.add_flag("--fit", fit, "fit the constants of each system's links to the other half");
  CLI11_PARSE(app, argc, argv);
  const SystemDatabase systems(
      DeviceDatabase::FromEnvironment(DLCOST_BUILD_HW_SPECS).directories());
  Rows rows(systems);
  for (const std::string& path : paths) rows.Read(path);
  fmt::print("{:<18} {:<12} {:>6} {:>9} {:>9}\n", "system", "links", "rows", "others", "held out");
  for (auto& [id, measured] : rows.by_system()) {
    System& system = rows.system(id);
    HoldOutHalf(measured);
    // The family of the farthest link that the rows use.
    const bool across = measured.front().call.group.size > system.node_devices;
    const std::string family = (across ? system.links.back() : system.links.front()).timing.id;
    std::vector<FittedLinkConstant> constants;
    if (fit) {
      const bool bandwidths = !across && system.links.size() > 1 && !system.links[1].network;
      constants = FitLinks(system, family, bandwidths, measured);
    }
    fmt::print("{:<18} {:<12} {:>6} {:>9} {:>9}\n", id, family, measured.size(),
               PercentOrDash(MedianError(system, measured, false)),
               PercentOrDash(MedianError(system, measured, true)));
    for (const CollectiveOp op : kCollectiveOps) {
      for (const int size : {2, 4, 8, 16}) {
        std::vector<MeasuredCollective> part;
        for (const MeasuredCollective& row : measured) {
          if (row.call.op == op && row.call.group.size == size) part.push_back(row);
        }
        if (part.empty()) continue;
        fmt::print("  {:<14} {:>3} {:>14} {:>9} {:>9}\n", Name(op), size, part.size(),
                   PercentOrDash(MedianError(system, part, false)),
                   PercentOrDash(MedianError(system, part, true)));
      }
    }
    for (const FittedLinkConstant& constant : constants) {
      fmt::print("    {} = {:.4g}\n", constant.name, constant.value);
    }
  }
  return 0;
}

}  // namespace
}  // namespace dlcost

int main(int argc, char** argv) {
  try {
    return dlcost::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "collectives: %s\n", error.what());
    return 2;
  }
}
