#include "estimator/report/device_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/core/whole_number.h"
#include "estimator/hardware/roof.h"
#include "estimator/report/device_json.h"
#include "estimator/report/table.h"

namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

double MatrixPeak(const Device& device, DType type) {
  return FindRoof(device, WorkKind::kMatrix, type).peak.value();
}

struct SortKey {
  const char* name;
  std::function<double(const Device&)> value;  // largest first; ties by id
};

const std::vector<SortKey>& SortKeys() {
  static const std::vector<SortKey> keys = {
      {"id", [](const Device&) { return 0.0; }},
      {"year", [](const Device& d) { return d.year.value_or(0); }},
      {"memory", [](const Device& d) { return d.memory.size.value_or(Bytes()).AsDouble(); }},
      {"bandwidth",
       [](const Device& d) { return d.memory.bandwidth.value_or(ByteRate()).value(); }},
      {"fp64", [](const Device& d) { return MatrixPeak(d, DType::kFloat64); }},
      {"fp32", [](const Device& d) { return MatrixPeak(d, DType::kFloat32); }},
      {"fp16", [](const Device& d) { return MatrixPeak(d, DType::kFloat16); }},
      {"bf16", [](const Device& d) { return MatrixPeak(d, DType::kBfloat16); }},
      {"fp8", [](const Device& d) { return MatrixPeak(d, DType::kFloat8E4M3FN); }},
      {"int8", [](const Device& d) { return MatrixPeak(d, DType::kInt8); }},
      {"power", [](const Device& d) { return d.power.value_or(Watts()).value(); }},
  };
  return keys;
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// "2022", "2020-2023", "2020-", "-2018" as first and last year.
std::pair<int, int> YearRange(const std::string& text) {
  const auto year = [&](const std::string& part, int if_empty) {
    if (part.empty()) return if_empty;
    const std::optional<int> value = WholeNumber<int>(part);
    if (!value) {
      throw Error("--year '{}': write it as 2022, 2020-2023, 2020- or -2018", Printable(text));
    }
    return *value;
  };
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) return {year(text, 0), year(text, 9999)};
  return {year(text.substr(0, dash), 0), year(text.substr(dash + 1), 9999)};
}

// Throws unless one of the devices has the wanted property.
void CheckName(const std::vector<Device>& devices, const std::string& option,
               const std::string& wanted, const std::function<std::string(const Device&)>& of) {
  if (wanted.empty()) return;
  std::vector<std::string> names;
  for (const Device& device : devices) {
    const std::string name = of(device);
    if (Lower(name) == Lower(wanted)) return;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  throw Error("{} '{}' is none of {}{}", option, Printable(wanted),
              fmt::format("{}", fmt::join(names, ", ")), DidYouMean(wanted, names));
}

std::string Tera(double operations_per_second) {
  if (operations_per_second == 0) return "-";
  const double tera = operations_per_second / 1e12;
  return tera < 100 ? fmt::format("{:.3g}", tera) : fmt::format("{:.0f}", tera);
}

std::string SizeText(const Device& device) {
  const Fact* fact = device.FindFact("memory.size");
  return fact ? fact->text : "-";
}

}  // namespace

std::vector<std::string> DeviceSortKeys() {
  std::vector<std::string> names;
  for (const SortKey& key : SortKeys()) names.emplace_back(key.name);
  return names;
}

std::vector<Device> SelectDevices(std::vector<Device> devices, const DeviceFilter& filter) {
  const auto vendor = [](const Device& d) { return d.vendor; };
  const auto kind = [](const Device& d) { return std::string(Name(d.kind)); };
  CheckName(devices, "--vendor", filter.vendor, vendor);
  CheckName(devices, "--kind", filter.kind, kind);
  const auto [first, last] = filter.year.empty() ? std::pair{0, 9999} : YearRange(filter.year);
  const auto& keys = SortKeys();
  const auto key = std::find_if(keys.begin(), keys.end(),
                                [&](const SortKey& k) { return k.name == filter.sort; });
  if (key == keys.end()) {
    throw Error("--sort '{}' is none of {}{}", Printable(filter.sort),
                fmt::format("{}", fmt::join(DeviceSortKeys(), ", ")),
                DidYouMean(filter.sort, DeviceSortKeys()));
  }
  std::erase_if(devices, [&, from = first, to = last](const Device& d) {
    const int year = d.year.value_or(0);
    return (!filter.vendor.empty() && Lower(d.vendor) != Lower(filter.vendor)) ||
           (!filter.kind.empty() && kind(d) != Lower(filter.kind)) || year < from || year > to;
  });
  std::stable_sort(devices.begin(), devices.end(),
                   [](const Device& a, const Device& b) { return a.id < b.id; });
  std::stable_sort(devices.begin(), devices.end(),
                   [&](const Device& a, const Device& b) { return key->value(a) > key->value(b); });
  return devices;
}

std::string DeviceListText(const std::vector<Device>& devices, std::size_t max_width) {
  Table table({"device", "vendor", "kind", "year", "units", "fp64", "fp32", "tf32", "fp16", "bf16",
               "fp8", "int8", "memory", "GB/s", "W"},
              {true, true, true});
  for (const Device& d : devices) {
    const auto peak = [&](DType type) { return Tera(MatrixPeak(d, type)); };
    const Rate* tf32 = d.FindRate(UnitKind::kTensor, NumberFormat::kTf32);
    table.Add({d.id, d.vendor, std::string(Name(d.kind)), d.year ? std::to_string(*d.year) : "-",
               d.units ? fmt::format("{} {}", *d.units, d.unit_name) : "-", peak(DType::kFloat64),
               peak(DType::kFloat32), tf32 ? Tera(tf32->peak.value()) : "-", peak(DType::kFloat16),
               peak(DType::kBfloat16), peak(DType::kFloat8E4M3FN), peak(DType::kInt8), SizeText(d),
               fmt::format("{:.0f}", d.memory.bandwidth->value() / 1e9),
               d.power ? fmt::format("{:.0f}", d.power->value()) : "-"});
  }
  table.MayDrop({"units", "kind", "year", "W", "bf16", "tf32", "fp64", "vendor", "int8", "fp8"});
  return table.Fit(max_width, "-o FILE or a pipe has them") +
         fmt::format(
             "\n{} device{}. Peaks in TFLOP/s (int8: TOP/s) of dense matrix products with fp32\n"
             "sums, as the device really runs the type (`dlcost gpus NAME` says how, and gives\n"
             "every source). \"-\": not public.\n",
             devices.size(), devices.size() == 1 ? "" : "s");
}

std::string DeviceListJson(const std::vector<Device>& devices) {
  Json list = Json::array();
  for (const Device& device : devices) list.push_back(DeviceFactsJson(device));
  const Json json = {{"schema", "dlcost.devices/1"}, {"devices", std::move(list)}};
  return json.dump(2) + "\n";
}

}  // namespace dlcost
