#include <cmath>

#include "estimator/core/integer.h"
#include "estimator/profile_report/render.h"
#include "estimator/profile_report/tables.h"

namespace dlcost {
namespace {

// Counts are integers where they are whole; means over launches may not be.
void Number(JsonWriter& json, std::string_view key, const std::optional<double>& value) {
  const bool whole = value && *value == std::floor(*value) && std::abs(*value) < 9e15;
  if (whole) {
    json.Member(key, Truncate(*value));
  } else {
    json.Member(key, value);
  }
}

bool IsCount(ProfileField::Unit unit) {
  return unit == ProfileField::kCount || unit == ProfileField::kFlops ||
         unit == ProfileField::kBytes;
}

// Fields that the file does not carry are absent. Lower bounds are named in "at_least".
void Members(JsonWriter& json, const ProfileGroup& group, bool sampled) {
  std::vector<std::string> at_least;
  for (const ProfileField& field : ProfileFields(sampled)) {
    const ProfileCell cell = field.of(group);
    if (!cell.value) continue;
    if (IsCount(field.unit)) {
      Number(json, field.key, cell.value);
    } else {
      json.Member(field.key, *cell.value);
    }
    if (!cell.whole) at_least.emplace_back(field.key);
  }
  if (!at_least.empty()) json.Member("at_least", at_least);
  if (const auto limiter = group.Limiter()) json.Member("limited_by", Name(*limiter));
}

void Group(JsonWriter& json, const ProfileGroup& group, bool sampled) {
  json.BeginObject();
  json.Member("name", group.name());
  for (const ProfileLabel& label : KernelLabels()) {
    if (!label.of(group).empty()) json.Member(label.key, label.of(group));
  }
  for (const auto& [key, size] :
       {std::pair("grid", &group.grid), std::pair("block", &group.block)}) {
    if (*size) json.Member(key, std::vector<std::int64_t>((*size)->begin(), (*size)->end()));
  }
  Members(json, group, sampled);
  json.EndObject();
}

void Total(JsonWriter& json, std::string_view key, const ProfileGroup& total, bool sampled) {
  if (total.rows() == 0) return;
  json.Key(key).BeginObject();
  json.Member("rows", total.rows());
  Members(json, total, sampled);
  json.EndObject();
}

void Activity(JsonWriter& json, const DeviceActivity& activity) {
  json.BeginObject();
  if (!activity.device.empty()) json.Member("device", activity.device);
  if (activity.process) json.Member("process", *activity.process);
  json.Member("launches", activity.launches);
  json.Member("span_s", activity.span);
  json.Member("busy_s", activity.busy);
  json.Member("idle_s", activity.idle);
  json.Member("gaps", activity.gaps);
  if (activity.gaps > 0) {
    json.Member("median_gap_s", activity.median_gap);
    json.Member("p90_gap_s", activity.p90_gap);
    json.Member("longest_gap_s", activity.longest_gap);
    json.Member("before_longest_gap", activity.before_longest);
    json.Member("after_longest_gap", activity.after_longest);
    json.Member("launch_gaps", activity.launch_gaps);
    json.Member("launch_idle_s", activity.launch_idle);
    json.Member("launch_bound", activity.launch_bound);
    json.Member("launch_bound_s", activity.launch_bound_time);
    json.Member("launch_bound_gaps_s", activity.launch_bound_gaps);
  }
  json.EndObject();
}

void Tail(JsonWriter& json, const LaunchTail& tail) {
  json.Key("tail").BeginObject();
  json.Member("threshold_s", tail.threshold);
  json.Member("threshold_from", tail.threshold_from);
  json.Member("launches", tail.launches);
  json.Member("of_launches", tail.of_launches);
  json.Member("time_s", tail.time);
  json.Member("of_time_s", tail.of_time);
  json.EndObject();
}

void Profile(JsonWriter& json, const ProfileReport& report) {
  json.BeginObject();
  json.Member("file", report.path);
  json.Member("format", report.format);
  json.Member("sampled", report.sampled);
  if (report.runs > 0) json.Member("runs", report.runs);
  json.Key("totals").BeginObject();
  Total(json, "kernels", report.kernels_total, report.sampled);
  Total(json, "operators", report.ops_total, report.sampled);
  Total(json, "copies", report.copies_total, false);
  Total(json, "calls", report.calls_total, false);
  json.EndObject();
  json.Key("activity").BeginArray();
  for (const DeviceActivity& activity : report.activity) Activity(json, activity);
  json.EndArray();
  if (report.tail && report.tail->of_launches > 0) Tail(json, *report.tail);
  json.Key("kernels").BeginArray();
  for (const ProfileGroup& kernel : report.kernels) Group(json, kernel, report.sampled);
  json.EndArray();
  for (const ProfileTable& table : TablesOf(report)) {
    json.Key(table.key).BeginArray();
    for (const ProfileGroup& group : *table.groups) Group(json, group, report.sampled);
    json.EndArray();
  }
  json.Key("counters").BeginArray();
  for (const CounterUse& use : report.counters) {
    json.BeginObject();
    json.Member("metric", use.metric);
    json.Member("from", use.sources);
    json.EndObject();
  }
  json.EndArray();
  json.Member("unknown_counters", report.unknown_counters);
  json.Member("notes", report.notes);
  json.EndObject();
}

}  // namespace

void WriteProfileJson(const std::vector<ProfileReport>& reports,
                      const ProfileReportOptions& options, const TextSink& sink) {
  JsonWriter json(sink);
  json.BeginObject();
  json.Member("schema", kMeasuredSchema);
  if (options.device) {
    json.Key("device").BeginObject();
    json.Member("id", options.device->id);
    json.Member("name", options.device->name);
    json.EndObject();
  } else {
    json.Key("device").Null();
  }
  json.Key("profiles").BeginArray();
  for (const ProfileReport& report : reports) Profile(json, report);
  json.EndArray();
  json.EndObject();
  json.Finish();
}

}  // namespace dlcost
