#include <nlohmann/json.hpp>

#include "estimator/core/integer.h"
#include "estimator/timeline/timeline.h"

namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

// As PyTorch's profiler names them, so that readers of its traces know what ran on the device.
const char* Category(TaskKind kind) {
  switch (kind) {
    case TaskKind::kKernel:
    case TaskKind::kCommunication:
      return "kernel";
    case TaskKind::kCopy:
      return "gpu_memcpy";
    case TaskKind::kHost:
      return "cpu_op";
  }
  return "";
}

// Whole nanoseconds, in which Perfetto keeps times: ends that were rounded apart from the starts
// behind them would overlap those, and it drops slices that overlap and do not nest.
std::int64_t Nanoseconds(Seconds time) { return RoundToInteger(time.value() * 1e9); }

// The format's unit.
double Microseconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }

}  // namespace

std::string ChromeTrace(const Timeline& timeline, const std::string& process) {
  Json events = Json::array();
  events.push_back(
      {{"ph", "M"}, {"name", "process_name"}, {"pid", 0}, {"args", {{"name", process}}}});
  // Threads of a resource follow each other.
  std::vector<int> first_thread;
  int threads = 0;
  for (const Resource& resource : timeline.resources()) {
    first_thread.push_back(threads + 1);
    for (int lane = 0; lane < resource.lanes; ++lane) {
      const std::string name =
          resource.lanes > 1 ? resource.name + " " + std::to_string(lane) : resource.name;
      events.push_back({{"ph", "M"},
                        {"name", "thread_name"},
                        {"pid", 0},
                        {"tid", ++threads},
                        {"args", {{"name", name}}}});
    }
  }
  for (std::size_t i = 0; i < timeline.tasks().size(); ++i) {
    const Task& task = timeline.tasks()[i];
    const PlacedTask& placed = timeline.placed()[i];
    if (task.duration <= Seconds()) continue;
    const std::int64_t start = Nanoseconds(placed.start);
    events.push_back({{"ph", "X"},
                      {"cat", Category(task.kind)},
                      {"name", task.name},
                      {"pid", 0},
                      {"tid", first_thread[task.resource] + placed.lane},
                      {"ts", Microseconds(start)},
                      {"dur", Microseconds(Nanoseconds(placed.end) - start)}});
  }
  const Json trace = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  return trace.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dlcost
