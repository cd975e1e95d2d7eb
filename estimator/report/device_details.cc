#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/hardware/roof.h"
#include "estimator/report/device_json.h"
#include "estimator/report/device_list.h"
#include "estimator/report/fact_table.h"
#include "estimator/report/table.h"

namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

// What people ask for: the types of tensors, and the modes that change which unit runs them.
struct Question {
  WorkKind work;
  DType type;
  MathMode mode;
};
constexpr Question kQuestions[] = {
    {WorkKind::kMatrix, DType::kFloat64, MathMode::kDefault},
    {WorkKind::kMatrix, DType::kFloat32, MathMode::kDefault},
    {WorkKind::kMatrix, DType::kFloat32, MathMode::kTf32},
    {WorkKind::kMatrix, DType::kFloat16, MathMode::kDefault},
    {WorkKind::kMatrix, DType::kFloat16, MathMode::kFp16Accumulate},
    {WorkKind::kMatrix, DType::kBfloat16, MathMode::kDefault},
    {WorkKind::kMatrix, DType::kFloat8E4M3FN, MathMode::kDefault},
    {WorkKind::kMatrix, DType::kFloat4E2M1, MathMode::kDefault},
    {WorkKind::kMatrix, DType::kInt8, MathMode::kDefault},
    {WorkKind::kMatrix, DType::kInt4, MathMode::kDefault},
    {WorkKind::kVector, DType::kFloat64, MathMode::kDefault},
    {WorkKind::kVector, DType::kFloat32, MathMode::kDefault},
    {WorkKind::kVector, DType::kFloat16, MathMode::kDefault},
    {WorkKind::kVector, DType::kBfloat16, MathMode::kDefault},
};

std::string_view Name(WorkKind work) {
  return work == WorkKind::kMatrix ? "matrix" : "elementwise";
}

std::string Operations(const Roof& roof) {
  return fmt::format("{:.4g} {}", roof.peak.value() / 1e12,
                     IsInteger(roof.input) ? "TOP/s" : "TFLOP/s");
}

// "tensor fp16 -> fp32": unit, what it multiplies and what it adds up in.
std::string Runs(const Roof& roof) {
  std::string text = fmt::format("{} {}", dlcost::Name(roof.unit), dlcost::Name(roof.input));
  if (roof.accumulate != roof.input) text += fmt::format(" -> {}", dlcost::Name(roof.accumulate));
  return text;
}

std::string RoofTable(const Device& device, std::size_t max_width) {
  Table table({"work", "type", "--math", "runs as", "peak", "ridge"}, {true, true, true, true});
  std::vector<std::string> notes;
  for (const Question& q : kQuestions) {
    const Roof roof = FindRoof(device, q.work, q.type, q.mode);
    const std::string mode = q.mode == MathMode::kDefault ? "" : std::string(dlcost::Name(q.mode));
    // A mode that changes nothing needs no line.
    if (q.mode != MathMode::kDefault) {
      const Roof plain = FindRoof(device, q.work, q.type);
      if (plain.peak == roof.peak && plain.unit == roof.unit) continue;
    }
    const auto ridge = RidgePoint(device, roof);
    table.Add({std::string(Name(q.work)), std::string(dlcost::Name(q.type)), mode,
               roof.known ? Runs(roof) : "-", roof.known ? Operations(roof) : "-",
               ridge ? fmt::format("{:.1f}", ridge->value()) : "-"});
    if (!roof.note.empty() && std::find(notes.begin(), notes.end(), roof.note) == notes.end()) {
      notes.push_back(roof.note);
    }
  }
  table.MayDrop({"--math", "ridge"});
  std::string text = table.Fit(max_width, "-o FILE or a pipe has them") +
                     "ridge: FLOP/byte from which on the peak bounds, not the memory\n";
  for (const std::string& note : notes) text += "  - " + note + "\n";
  return text;
}

std::string Sentence(const Device& device) {
  std::vector<std::string> parts = {device.vendor + " " + std::string(dlcost::Name(device.kind)),
                                    device.architecture};
  if (device.compute_capability) {
    parts.push_back("compute capability " + *device.compute_capability);
  }
  if (device.target) parts.push_back(*device.target);
  for (const std::string& part : {device.form, device.scope}) {
    if (!part.empty()) parts.push_back(part);
  }
  if (device.year) parts.push_back(std::to_string(*device.year));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Json LevelJson(const MemoryLevel& level) {
  Json json = {{"name", level.name}};
  if (!level.type.empty()) json["type"] = level.type;
  json["bytes"] = ValueOrNull(level.size);
  json["bandwidth"] = ValueOrNull(level.bandwidth);
  json["sustained_bandwidth"] = ValueOrNull(level.sustained);
  return json;
}

}  // namespace

Json DeviceFactsJson(const Device& d) {
  Json json = {{"id", d.id},
               {"name", d.name},
               {"aliases", d.aliases},
               {"vendor", d.vendor},
               {"kind", std::string(Name(d.kind))},
               {"architecture", d.architecture},
               {"compute_capability", PlainOrNull(d.compute_capability)},
               {"year", PlainOrNull(d.year)},
               {"confidence", d.confidence},
               {"units", PlainOrNull(d.units)},
               {"unit_name", d.unit_name},
               {"base_clock_hz", ValueOrNull(d.base_clock)},
               {"boost_clock_hz", ValueOrNull(d.boost_clock)},
               {"tensor_clock_hz", ValueOrNull(d.tensor_clock)},
               {"max_clock_hz", ValueOrNull(d.max_clock)},
               {"power_w", ValueOrNull(d.power)}};
  Json rates = Json::array();
  for (const Rate& rate : d.rates) {
    rates.push_back({{"unit", std::string(Name(rate.unit))},
                     {"input", std::string(Name(rate.input))},
                     {"accumulate", std::string(Name(rate.accumulate))},
                     {"per_second", rate.peak.value()}});
  }
  json["rates"] = std::move(rates);
  json["memory"] = LevelJson(d.memory);
  Json caches = Json::array();
  for (const MemoryLevel& level : d.caches) caches.push_back(LevelJson(level));
  json["caches"] = std::move(caches);
  return json;
}

std::string DeviceText(const Device& device, std::size_t max_width) {
  SourceList sources;
  std::string text = fmt::format("{}  ({})\n{}\n", device.name, device.id, Sentence(device));
  if (!device.aliases.empty()) {
    text += fmt::format("also called: {}\n", fmt::join(device.aliases, ", "));
  }
  if (!device.confidence.empty()) text += fmt::format("confidence: {}\n", device.confidence);
  text += "\n" + RoofTable(device, max_width) + "\n" + FactTable(device.facts, sources);
  if (!device.sparsity.empty()) {
    std::vector<std::string_view> formats;
    for (const NumberFormat format : device.sparsity) formats.push_back(Name(format));
    text +=
        fmt::format("\n2:4 sparsity doubles: {} (not counted above)\n", fmt::join(formats, ", "));
  }
  if (!device.notes.empty()) text += "\nnotes\n";
  for (const std::string& note : device.notes) text += "  - " + note + "\n";
  const std::string documents = sources.Text();
  if (!documents.empty()) text += "\nsources\n" + documents;
  return text;
}

std::string DeviceJson(const Device& device) {
  Json json = {{"schema", "dlcost.device/1"}};
  json.update(DeviceFactsJson(device));
  Json roofs = Json::array();
  for (const Question& q : kQuestions) {
    const Roof roof = FindRoof(device, q.work, q.type, q.mode);
    const auto ridge = RidgePoint(device, roof);
    Json one = {{"work", std::string(Name(q.work))},
                {"dtype", std::string(Name(q.type))},
                {"math", std::string(Name(q.mode))},
                {"unit", roof.known ? Json(std::string(Name(roof.unit))) : Json()},
                {"input", roof.known ? Json(std::string(Name(roof.input))) : Json()},
                {"accumulate", roof.known ? Json(std::string(Name(roof.accumulate))) : Json()},
                {"per_second", roof.known ? Json(roof.peak.value()) : Json()},
                {"ridge_flop_per_byte", ridge ? Json(ridge->value()) : Json()}};
    if (!roof.note.empty()) one["note"] = roof.note;
    roofs.push_back(std::move(one));
  }
  json["roofs"] = std::move(roofs);
  Json timing = Json::object();
  for (const auto& [name, value] : device.timing) timing[name] = value;
  json["timing"] = std::move(timing);
  json["facts"] = FactsJson(device.facts);
  json["notes"] = device.notes;
  return json.dump(2) + "\n";
}

}  // namespace dlcost
