#include "estimator/profile_report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "estimator/core/error.h"
#include "estimator/report/format.h"

namespace dlcost {
namespace {

ProfileCell Cell(const std::optional<ProfileGroup::Sum>& sum) {
  return sum ? ProfileCell{sum->value, sum->whole} : ProfileCell{};
}
ProfileCell Cell(const std::optional<double>& value) { return {value, true}; }

template <Metric metric>
ProfileCell MeanCell(const ProfileGroup& group) {
  return Cell(group.Mean(metric));
}

using F = ProfileField;
constexpr std::array kFields = {
    F{"launches", "launches", F::kCount,
      [](const ProfileGroup& g) { return Cell(static_cast<double>(g.launches())); }},
    F{"time_s", "time", F::kSeconds, [](const ProfileGroup& g) { return Cell(g.Time()); }},
    F{"mean_s", "mean", F::kSeconds, [](const ProfileGroup& g) { return Cell(g.MeanTime()); }},
    F{"flops", "FLOPs", F::kFlops, [](const ProfileGroup& g) { return Cell(g.Flops()); }},
    F{"flop_rate", "FLOP/s", F::kFlopRate,
      [](const ProfileGroup& g) { return Cell(g.FlopRate()); }},
    F{"bytes", "bytes", F::kBytes, [](const ProfileGroup& g) { return Cell(g.Bytes()); }},
    F{"byte_rate", "B/s", F::kByteRate, [](const ProfileGroup& g) { return Cell(g.ByteRate()); }},
    F{"intensity", "FLOP/B", F::kRatio, [](const ProfileGroup& g) { return Cell(g.Intensity()); }},
    F{"instructions", "instr.", F::kFlops,
      [](const ProfileGroup& g) { return Cell(g.Instructions()); }},
    F{"cycles", "cycles", F::kFlops, [](const ProfileGroup& g) { return Cell(g.Cycles()); }},
    F{"compute_share", "of compute", F::kShare,
      [](const ProfileGroup& g) { return Cell(g.ComputeShare()); }},
    F{"memory_share", "of memory", F::kShare,
      [](const ProfileGroup& g) { return Cell(g.MemoryShare()); }},
    F{"compute_utilization", "compute used", F::kShare, MeanCell<Metric::kComputeUtilization>},
    F{"memory_utilization", "memory used", F::kShare, MeanCell<Metric::kMemoryUtilization>},
    F{"tensor_active", "tensor pipe", F::kShare, MeanCell<Metric::kTensorActive>},
    F{"occupancy", "occupancy", F::kShare, MeanCell<Metric::kOccupancy>},
    F{"ipc", "IPC", F::kRatio, MeanCell<Metric::kIpc>},
    F{"sm_efficiency", "SMs busy", F::kShare, MeanCell<Metric::kSmEfficiency>},
    F{"warp_efficiency", "lanes busy", F::kShare, MeanCell<Metric::kWarpEfficiency>},
    F{"load_efficiency", "loads used", F::kShare, MeanCell<Metric::kLoadEfficiency>},
    F{"store_efficiency", "stores used", F::kShare, MeanCell<Metric::kStoreEfficiency>},
};

constexpr ProfileLabel kFamily{
    "family", "family", [](const ProfileGroup& g) -> const std::string& { return g.family; }};
constexpr ProfileLabel kLibrary{
    "library", "library", [](const ProfileGroup& g) -> const std::string& { return g.library; }};
constexpr ProfileLabel kOp{"op", "operator",
                           [](const ProfileGroup& g) -> const std::string& { return g.op; }};
constexpr ProfileLabel kOpType{
    "op_type", "type", [](const ProfileGroup& g) -> const std::string& { return g.op_type; }};
constexpr ProfileLabel kModule{
    "module", "module", [](const ProfileGroup& g) -> const std::string& { return g.module; }};
constexpr ProfileLabel kDevice{
    "device", "device", [](const ProfileGroup& g) -> const std::string& { return g.device; }};

std::string ValueText(double value, ProfileField::Unit unit) {
  switch (unit) {
    case F::kCount:
      return fmt::format("{:.0f}", value);
    case F::kSeconds:
      return value == 0 ? "0 s" : ReadableTime(Seconds(value));
    case F::kFlops:
      return Readable(value);
    case F::kBytes:
      return WithUnit(value, "B");
    case F::kFlopRate:
      return WithUnit(value, "FLOP/s");
    case F::kByteRate:
      return WithUnit(value, "B/s");
    case F::kRatio:
      return ReadableRatio(value);
    case F::kShare:
      return Percent(value);
  }
  return "";
}

std::string OrDash(const std::string& text) { return text.empty() ? "-" : Printable(text, 60); }

}  // namespace

std::string WithUnit(double value, const char* unit) {
  const std::string text = Readable(value);
  const bool prefixed = text.back() < '0' || text.back() > '9';
  return text + (prefixed ? "" : " ") + unit;
}

std::span<const ProfileField> ProfileFields(bool sampled) {
  return std::span<const ProfileField>(kFields).subspan(sampled ? 1 : 0);
}

std::vector<const ProfileField*> UsedFields(const std::vector<ProfileGroup>& groups, bool sampled) {
  std::vector<const ProfileField*> used;
  for (const ProfileField& field : ProfileFields(sampled)) {
    // The mean tells nothing where every group is one launch.
    const bool repeats = std::any_of(groups.begin(), groups.end(),
                                     [](const ProfileGroup& g) { return g.launches() > 1; });
    if (field.key == "mean_s" && (sampled || !repeats)) continue;
    if (std::any_of(groups.begin(), groups.end(),
                    [&](const ProfileGroup& g) { return field.of(g).value.has_value(); })) {
      used.push_back(&field);
    }
  }
  return used;
}

std::vector<ProfileLabel> KernelLabels() {
  return {kFamily, kLibrary, kOp, kOpType, kModule, kDevice};
}

const ProfileGroup& MainTotal(const ProfileReport& report) {
  return report.kernels_total.rows() > 0 ? report.kernels_total : report.ops_total;
}

std::vector<ProfileTable> TablesOf(const ProfileReport& report) {
  const ProfileGroup* const total = &MainTotal(report);
  const bool kernels = report.kernels_total.rows() > 0;
  const bool families = report.by_family.size() > 1 ||
                        (!report.by_family.empty() && report.by_family[0].name() != "unknown");
  const ProfileLabel first = !kernels ? kOpType : kFamily;
  const ProfileTable all[] = {
      {"by_name",
       report.sampled ? "Functions by name"
       : kernels      ? "Kernels by name"
                      : "Operators by name",
       report.sampled ? "function"
       : kernels      ? "kernel"
                      : "operator",
       &report.by_name,
       {first},
       total},
      {"by_family", "By family", "family", &report.by_family, {}, total},
      {"by_op_type", "By type of operator", "type", &report.by_op_type, {}, total},
      {"by_op", "By operator", "operator", &report.by_op, {kOpType}, total},
      {"by_module", "By module or range", "module", &report.by_module, {}, total},
      {"copies", "Copies and fills of memory", "copy", &report.copies, {}, &report.copies_total},
      {"calls", "Calls of the host", "call", &report.calls, {}, &report.calls_total}};
  std::vector<ProfileTable> tables;
  for (const ProfileTable& table : all) {
    if (table.groups->empty() || (table.key == "by_family" && !families)) continue;
    tables.push_back(table);
  }
  return tables;
}

std::string GridText(const std::optional<std::array<std::int64_t, 3>>& grid) {
  if (!grid) return "";
  return fmt::format("{}x{}x{}", (*grid)[0], (*grid)[1], (*grid)[2]);
}

std::string CellText(const ProfileCell& cell, ProfileField::Unit unit) {
  if (!cell.value) return "-";
  return (cell.whole ? "" : "\u2265 ") + ValueText(*cell.value, unit);
}

std::string ShareText(const ProfileGroup& group, const ProfileGroup& total) {
  const auto time = group.Time(), all = total.Time();
  if (!time || !all || all->value <= 0) return "-";
  return Percent(time->value / all->value);
}

ProfileCells CellsOf(const ProfileTable& table, bool sampled, std::size_t top) {
  ProfileCells cells;
  const std::vector<ProfileGroup>& groups = *table.groups;
  const auto fields = UsedFields(groups, sampled);
  const bool timed = std::any_of(fields.begin(), fields.end(),
                                 [](const ProfileField* f) { return f->key == "time_s"; });
  const bool limited = std::any_of(groups.begin(), groups.end(),
                                   [](const ProfileGroup& g) { return g.Limiter().has_value(); });
  cells.head.emplace_back(table.head);
  cells.left.push_back(true);
  for (const ProfileLabel& label : table.labels) {
    cells.head.emplace_back(label.head);
    cells.left.push_back(true);
  }
  for (const ProfileField* field : fields) {
    cells.head.emplace_back(field->head);
    if (field->key == "time_s" && timed) cells.head.emplace_back("share");
  }
  if (limited) cells.head.emplace_back("limited by");
  cells.left.resize(cells.head.size(), false);
  const std::size_t shown = top == 0 ? groups.size() : std::min(top, groups.size());
  cells.left_out = groups.size() - shown;
  for (std::size_t g = 0; g < shown; ++g) {
    const ProfileGroup& group = groups[g];
    std::vector<std::string> row = {Printable(group.name(), 70)};
    for (const ProfileLabel& label : table.labels) row.push_back(OrDash(label.of(group)));
    for (const ProfileField* field : fields) {
      row.push_back(CellText(field->of(group), field->unit));
      if (field->key == "time_s" && timed) row.push_back(ShareText(group, *table.total));
    }
    if (limited) {
      const auto limiter = group.Limiter();
      row.push_back(limiter ? std::string(Name(*limiter)) : "-");
    }
    cells.rows.push_back(std::move(row));
  }
  return cells;
}

std::vector<DeviceFacts::RoofFact> RoofsOf(const ProfileReport& report,
                                           const ProfileReportOptions& options) {
  std::vector<DeviceFacts::RoofFact> roofs;
  if (options.device == nullptr) return roofs;
  const auto& bandwidth = options.device->memory.bandwidth;
  const auto add = [&](UnitKind unit, NumberFormat format) {
    const Rate* rate = options.device->FindRate(unit, format);
    if (rate == nullptr) return;
    const std::string name = fmt::format("{} {}", Name(unit), Name(format));
    const bool known = std::any_of(roofs.begin(), roofs.end(),
                                   [&](const auto& roof) { return roof.name == name; });
    if (known) return;
    roofs.push_back(
        {name, rate->peak, bandwidth ? std::optional(rate->peak / *bandwidth) : std::nullopt});
  };
  for (const CounterUse& use : report.counters) {
    if (use.metric == "flops_f16") add(UnitKind::kVector, NumberFormat::kFp16);
    if (use.metric == "flops_f32") add(UnitKind::kVector, NumberFormat::kFp32);
    if (use.metric == "flops_f64") add(UnitKind::kVector, NumberFormat::kFp64);
    if (use.metric == "flops") add(UnitKind::kVector, options.format.value_or(NumberFormat::kFp32));
    if (use.metric == "tensor_flops") {
      add(UnitKind::kTensor, options.format.value_or(NumberFormat::kFp16));
    }
  }
  return roofs;
}

RooflineChart ChartOf(const ProfileReport& report, const ProfileReportOptions& options) {
  RooflineChart chart;
  chart.roofs = RoofsOf(report, options);
  if (options.device) chart.bandwidth = options.device->memory.bandwidth;
  for (const ProfileGroup& kernel : report.kernels) {
    const auto time = kernel.Time();
    if (!time) continue;
    chart.total_time += time->value;
    const auto rate = kernel.FlopRate(), intensity = kernel.Intensity();
    if (!rate || !intensity || *intensity <= 0) continue;
    // Of the launches that tell all three.
    const double flops = *rate * time->value;
    chart.points.push_back({flops, flops / *intensity, time->value});
  }
  return chart;
}

}  // namespace dlcost
