#include "estimator/report/viewers.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

#include "estimator/core/error.h"
#include "estimator/report/layers.h"
#include "estimator/report/rows.h"

namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

void RequireTimes(const Report& report, const char* format) {
  if (report.device) return;
  throw Error("--format {} shows times, which need a device: add --gpu a100", format);
}

std::string JsonText(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string RenderPerfetto(const Report& report) {
  RequireTimes(report, "perfetto");
  Json events = Json::array();
  const auto name = [&](const char* what, const std::string& text) {
    events.push_back(
        {{"ph", "M"}, {"pid", 1}, {"tid", 1}, {"name", what}, {"args", {{"name", text}}}});
  };
  name("process_name", report.model.path + " on " + report.device->name);
  name("thread_name", "kernels, expected");
  double at = 0;
  for (const KernelRow& kernel : report.kernels) {
    if (kernel.launches == Count(0)) continue;
    const double time = 1e6 * TimeOf(kernel);
    events.push_back({{"ph", "X"},
                      {"pid", 1},
                      {"tid", 1},
                      {"cat", "kernel"},
                      {"name", report.nodes[kernel.main].name},
                      {"ts", at},
                      {"dur", time},
                      {"args",
                       {{"kernel", kernel.id},
                        {"label", kernel.label},
                        {"algorithm", kernel.algorithm},
                        {"launches", kernel.launches.value()},
                        {"flops", kernel.sums.flops.value()},
                        {"bytes", kernel.sums.bytes().value()},
                        {"bound_us", 1e6 * kernel.sums.bound.value()},
                        {"limited_by", kernel.LimitedBy()}}}});
    at += time;
  }
  return JsonText({{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}});
}

std::string RenderSpeedscope(const Report& report) {
  RequireTimes(report, "speedscope");
  Json frames = Json::array(), samples = Json::array(), weights = Json::array();
  std::unordered_map<std::string, std::size_t> known;
  const auto frame = [&](const std::string& name) {
    const auto [found, is_new] = known.emplace(name, frames.size());
    if (is_new) frames.push_back({{"name", name}});
    return found->second;
  };
  double total = 0;
  for (const KernelRow& kernel : report.kernels) {
    if (kernel.launches == Count(0)) continue;
    Json stack = Json::array();
    for (const std::string& part : PathParts(report.nodes[kernel.main].scope)) {
      stack.push_back(frame(part));
    }
    stack.push_back(frame(kernel.label));
    samples.push_back(std::move(stack));
    weights.push_back(1e9 * TimeOf(kernel));
    total += 1e9 * TimeOf(kernel);
  }
  const std::string name = report.model.path + " on " + report.device->name;
  Json profile = {{"type", "sampled"},
                  {"name", name},
                  {"unit", "nanoseconds"},
                  {"startValue", 0},
                  {"endValue", total},
                  {"samples", std::move(samples)},
                  {"weights", std::move(weights)}};
  return JsonText({{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                   {"name", name},
                   {"exporter", "dlcost"},
                   {"activeProfileIndex", 0},
                   {"shared", {{"frames", std::move(frames)}}},
                   {"profiles", Json::array({std::move(profile)})}});
}

}  // namespace dlcost
