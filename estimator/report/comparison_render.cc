#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/core/error.h"
#include "estimator/report/certainty_text.h"
#include "estimator/report/comparison.h"
#include "estimator/report/csv_field.h"
#include "estimator/report/fields/certainty.h"
#include "estimator/report/format.h"
#include "estimator/report/json_fields.h"
#include "estimator/report/runtime_text.h"
#include "estimator/report/table.h"

namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

// More columns than this do not fit on a line: the operators' table is left to JSON.
constexpr std::size_t kMostColumns = 6;

std::string FitText(const DeviceRow& row, Bytes needed) {
  if (!row.memory) return "?";
  return needed <= *row.memory
             ? fmt::format("yes, {}", Percent(needed.AsDouble() / row.memory->AsDouble()))
             : "NO";
}

std::string Limiter(const Sums& totals) {
  return totals.memory > totals.compute ? "memory" : "compute";
}

// The unit is said once where both ends have the same.
std::string RangeText(const DeviceRow& row) {
  std::string low = ReadableTime(row.expected_low);
  const std::string high = ReadableTime(row.expected_high);
  const std::size_t unit = low.rfind(' '), same = high.rfind(' ');
  if (unit != std::string::npos && same != std::string::npos &&
      low.substr(unit) == high.substr(same)) {
    low.resize(unit);
  }
  return fmt::format("{} to {}", low, high);
}

std::string DeviceTable(const DeviceComparison& comparison, std::size_t max_width) {
  const DeviceRow& first = comparison.devices.front();
  const bool expected =
      std::any_of(comparison.devices.begin(), comparison.devices.end(),
                  [](const DeviceRow& row) { return row.totals.expected.has_value(); });
  std::vector<std::string> head = {"device", "bound"};
  if (expected) head.insert(head.end(), {"expected", "range", "basis"});
  for (const char* name : {"ratio", "compute", "memory", "mostly", "fits"}) head.emplace_back(name);
  std::vector<bool> left(head.size(), false);
  left[head.size() - 1] = left[head.size() - 2] = true;
  Table table(head, left);
  for (const DeviceRow& row : comparison.devices) {
    std::vector<std::string> cells = {row.id};
    if (row.comparable) {
      cells.push_back(Marked(BoundStanding(row.doubt), ReadableTime(row.totals.bound)));
      if (row.totals.expected) {
        cells.push_back(Marked(ExpectedStanding(row.doubt), ReadableTime(*row.totals.expected)));
        cells.push_back(RangeText(row));
        cells.emplace_back(Name(row.basis));
      } else if (expected) {
        cells.resize(cells.size() + 3, "-");
      }
      const bool ratio = first.comparable && first.time().value() > 0;
      cells.push_back(ratio ? fmt::format("{:.2f}", row.time() / first.time()) : "-");
      cells.push_back(ReadableTime(row.totals.compute));
      cells.push_back(ReadableTime(row.totals.memory));
      cells.push_back(Limiter(row.totals));
    } else {
      cells.resize(head.size() - 1, "-");
    }
    cells.push_back(FitText(row, comparison.needed()));
    table.Add(std::move(cells));
  }
  table.MayDrop({"memory", "compute", "basis", "ratio", "range", "mostly"});
  return table.Fit(max_width, "--format csv has them");
}

const GroupRow* Find(const DeviceRow& row, const std::string& op) {
  for (const GroupRow& group : row.by_op) {
    if (group.name == op) return &group;
  }
  return nullptr;
}

std::string OperatorTable(const DeviceComparison& comparison, std::size_t max_width) {
  std::vector<std::string> head = {"bound per operator"};
  for (const DeviceRow& row : comparison.devices) head.push_back(row.id);
  Table table(head);
  for (const std::string& op : comparison.operators) {
    std::vector<std::string> cells = {Printable(op)};
    bool runs = false;
    for (const DeviceRow& row : comparison.devices) {
      const GroupRow* group = Find(row, op);
      runs |= group && group->sums.bound.value() > 0;
      cells.push_back(group && row.comparable
                          ? Marked(BoundStanding(group->doubt), ReadableTime(group->sums.bound))
                          : "-");
    }
    if (runs) table.Add(std::move(cells));
  }
  return table.Fit(max_width, "--format csv has them");
}

Json Optional(const std::optional<Bytes>& bytes) { return bytes ? Json(bytes->value()) : Json(); }

void AddTimes(Json& json, const Sums& sums, bool known) {
  json["bound_s"] = known ? Json(sums.bound.value()) : Json();
  json["expected_s"] = known && sums.expected ? Json(sums.expected->value()) : Json();
  json["compute_s"] = known ? Json(sums.compute.value()) : Json();
  json["memory_s"] = known ? Json(sums.memory.value()) : Json();
}

}  // namespace

std::string ComparisonText(const DeviceComparison& comparison, std::size_t max_width) {
  const ModelFacts& model = comparison.model;
  std::string text = fmt::format("model     {}: {} nodes\n", Printable(model.path), model.nodes);
  std::vector<std::string> dims;
  for (const auto& [name, size] : model.dims) {
    dims.push_back(fmt::format("{}={}", Printable(name), size));
  }
  if (!dims.empty()) text += fmt::format("dims      {}\n", fmt::join(dims, ", "));
  text += fmt::format("needs     {}: weights {}, activations {}\n",
                      ReadableBytes(comparison.needed()), ReadableBytes(model.weight_bytes),
                      Marked(PeakStanding(comparison.certainty.doubt),
                             ReadableBytes(comparison.peak_activation_bytes)));
  text += fmt::format("runtime   {}\n", RuntimeText(comparison.options));
  constexpr std::size_t kMost = 5;
  for (const CertaintyLine& line : CertaintyLines(comparison.certainty, comparison.totals, kMost)) {
    text += fmt::format("{:<10}{}\n", line.label, line.text);
  }
  text += "\n" + DeviceTable(comparison, max_width) + "\n";
  if (comparison.hidden > 0) {
    text += fmt::format("note      {} more devices; without --top: all\n", comparison.hidden);
  }
  if (comparison.devices.size() <= kMostColumns)
    text += OperatorTable(comparison, max_width) + "\n";
  for (const DeviceRow& row : comparison.devices) {
    for (const std::string& note : row.notes) {
      // A ranking has no room for the notes of every device, only for those of the missing.
      if (comparison.devices.size() > kMostColumns && row.comparable) continue;
      text += fmt::format("note      {}: {}\n", row.id, note);
    }
  }
  for (const std::string& note : comparison.notes) text += fmt::format("note      {}\n", note);
  if (!comparison.unknown.empty()) {
    text +=
        fmt::format("unknown   {} nodes are left out of all totals\n", comparison.unknown.size());
  }
  return text;
}

std::string ComparisonJson(const DeviceComparison& comparison) {
  const ModelFacts& model = comparison.model;
  Json json = {{"schema", "dlcost.comparison/1"}};
  json["model"] = {{"path", model.path},
                   {"name", model.name},
                   {"nodes", model.nodes},
                   {"parameters", model.parameters.value()},
                   {"weight_bytes", model.weight_bytes.value()},
                   {"peak_activation_bytes", comparison.peak_activation_bytes.value()},
                   {"needed_bytes", comparison.needed().value()},
                   {"unknown", comparison.unknown.size()}};
  json["runtime"] = comparison.options.runtime;
  json["runtime_given"] = comparison.options.runtime_given;
  std::string certainty;
  JsonWriter writer([&](std::string_view piece) { certainty += piece; });
  writer.BeginObject();
  JsonFields in(writer, /*timed=*/false);
  fields::OfTotals(in, comparison.certainty, comparison.totals);
  writer.EndObject();
  writer.Finish();
  json["certainty"] = Json::parse(certainty);
  json["devices"] = Json::array();
  for (const DeviceRow& row : comparison.devices) {
    Json device = {{"id", row.id}, {"name", row.name}};
    AddTimes(device, row.totals, row.comparable);
    device["certainty"] = Word(row.doubt);
    const bool timed = row.comparable && row.totals.expected;
    device["expected_range_s"] =
        timed ? Json{row.expected_low.value(), row.expected_high.value()} : Json();
    device["timing_basis"] = timed ? Json(std::string(Name(row.basis))) : Json();
    device["memory_bytes"] = Optional(row.memory);
    device["fits"] = row.memory ? Json(comparison.needed() <= *row.memory) : Json();
    device["by_op"] = Json::array();
    for (const GroupRow& group : row.by_op) {
      Json one = {{"op", group.name}, {"nodes", group.sums.nodes}};
      AddTimes(one, group.sums, row.comparable);
      if (!group.doubt.Exact()) one["certainty"] = Word(group.doubt);
      device["by_op"].push_back(std::move(one));
    }
    device["notes"] = row.notes;
    json["devices"].push_back(std::move(device));
  }
  json["notes"] = comparison.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string ComparisonCsv(const DeviceComparison& comparison) {
  std::string text =
      "device,bound_s,expected_s,compute_s,memory_s,memory_bytes,needed_bytes,certainty,"
      "expected_low_s,expected_high_s,timing_basis,runtime\n";
  for (const DeviceRow& row : comparison.devices) {
    const auto number = [&](Seconds time) {
      return row.comparable ? fmt::format("{:.9g}", time.value()) : std::string();
    };
    const bool timed = row.comparable && row.totals.expected;
    text += fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{},{}\n", row.id, number(row.totals.bound),
        row.totals.expected ? number(*row.totals.expected) : "", number(row.totals.compute),
        number(row.totals.memory), row.memory ? std::to_string(row.memory->value()) : "",
        comparison.needed().value(), CsvField(Word(row.doubt)),
        timed ? number(row.expected_low) : "", timed ? number(row.expected_high) : "",
        timed ? Name(row.basis) : "", CsvField(comparison.options.runtime));
  }
  return text;
}

}  // namespace dlcost
