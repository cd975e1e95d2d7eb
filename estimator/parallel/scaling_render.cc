#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/parallel/scaling.h"
#include "estimator/report/format.h"
#include "estimator/report/table.h"

namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

std::string ExcessText(const Scaling& scaling, const ScalePoint& point) {
  if (!scaling.question.memory || point.step.memory <= *scaling.question.memory) return "";
  return fmt::format(" ({} too much)", ReadableBytes(point.step.memory - *scaling.question.memory));
}

std::string HoursText(double hours) {
  return hours < 1 ? fmt::format("{:.3g} min", hours * 60) : fmt::format("{:.4g} h", hours);
}

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

}  // namespace

std::optional<double> HoursOf(const Scaling& scaling, const ScalePoint& point) {
  if (!scaling.question.samples) return std::nullopt;
  return *scaling.question.samples / point.Throughput() / 3600;
}

std::optional<double> PriceOf(const Scaling& scaling, const ScalePoint& point) {
  const auto hours = HoursOf(scaling, point);
  if (!hours || !scaling.question.price) return std::nullopt;
  return *hours * point.devices * *scaling.question.price;
}

std::string ScalingText(const Scaling& scaling, std::size_t max_width) {
  std::string text = fmt::format(
      "{} on {} ({}), data parallel{}, {} scaling\n\n", scaling.model, scaling.system,
      scaling.device, scaling.plan.zero ? fmt::format(" with ZeRO {}", scaling.plan.zero) : "",
      scaling.strong ? "strong" : "weak");
  std::vector<std::string> head = {"devices", "batch of all", "step",    "items/s", "efficiency",
                                   "compute", "exchanged",    "exposed", "sent",    "runs as"};
  std::vector<bool> left(head.size(), false);
  left.back() = true;
  head.push_back("memory per device");
  left.push_back(false);
  if (!scaling.bound_by.empty()) {
    head.insert(head.end(), {"input", "waits for it"});
    left.insert(left.end(), {false, false});
  }
  if (scaling.question.samples) head.push_back("to train");
  if (scaling.question.samples && scaling.question.price) head.push_back("price");
  Table table(head, left);
  for (const ScalePoint& point : scaling.points) {
    const ParallelStep& step = point.step;
    std::vector<std::string> row = {
        std::to_string(point.devices),
        std::to_string(point.batch * point.devices),
        ReadableTime(point.Time()),
        Readable(point.Throughput()),
        fmt::format("{:.1f} %", point.efficiency * 100),
        ReadableTime(step.compute),
        ReadableTime(step.communication),
        ReadableTime(step.exposed),
        ReadableBytes(step.sent),
        step.collectives > 0 ? fmt::format("{} x {}", step.collectives, step.algorithm) : "-",
        ReadableBytes(step.memory) + ExcessText(scaling, point)};
    if (!scaling.bound_by.empty()) {
      row.insert(row.end(), {ReadableTime(point.input), ReadableTime(point.waits)});
    }
    if (const auto hours = HoursOf(scaling, point)) row.push_back(HoursText(*hours));
    if (const auto price = PriceOf(scaling, point)) row.push_back(fmt::format("{:.2f}", *price));
    table.Add(std::move(row));
  }
  table.MayDrop({"runs as", "sent", "compute", "batch of all", "exchanged", "input", "exposed"});
  text += table.Fit(max_width, "--format json has them") + "\n";
  const bool fits =
      !scaling.question.memory ||
      std::any_of(scaling.points.begin(), scaling.points.end(), [&](const ScalePoint& point) {
        return point.step.memory <= *scaling.question.memory;
      });
  if (!fits) {
    text += "on no number of devices does a step fit into memory\n";
  } else if (scaling.pays_up_to && *scaling.pays_up_to == scaling.points.back().devices) {
    text += fmt::format("scaling pays up to {} devices, and perhaps beyond\n", *scaling.pays_up_to);
  } else if (scaling.pays_up_to) {
    text += fmt::format(
        "scaling pays up to {} devices: beyond, an added one brings less than half of the first\n",
        *scaling.pays_up_to);
  } else {
    text += "scaling does not pay: an added device brings less than half of the first\n";
  }
  if (!scaling.bound_by.empty()) {
    text += fmt::format("input: {} is its slowest stage\n", scaling.bound_by);
  }
  for (const std::string& note : scaling.notes) text += "note: " + note + "\n";
  return text;
}

std::string ScalingJson(const Scaling& scaling) {
  Json points = Json::array();
  for (const ScalePoint& point : scaling.points) {
    const ParallelStep& step = point.step;
    points.push_back(
        {{"devices", point.devices},
         {"batch_per_device", point.batch},
         {"step_s", point.Time().value()},
         {"items_per_s", point.Throughput()},
         {"efficiency", point.efficiency},
         {"compute_s", step.compute.value()},
         {"communication_s", step.communication.value()},
         {"exposed_communication_s", step.exposed.value()},
         {"input_s", scaling.bound_by.empty() ? Json() : Json(point.input.value())},
         {"waits_for_input_s", point.waits.value()},
         {"collectives", step.collectives},
         {"algorithm", step.algorithm},
         {"link", step.link},
         {"sent_bytes", step.sent.value()},
         {"memory_bytes", step.memory.value()},
         {"fits", scaling.question.memory ? Json(step.memory <= *scaling.question.memory) : Json()},
         {"hours", OrNull(HoursOf(scaling, point))},
         {"price", OrNull(PriceOf(scaling, point))}});
  }
  return Json({{"schema", "dlcost.scale/1"},
               {"model", scaling.model},
               {"system", scaling.system},
               {"device", scaling.device},
               {"scaling", scaling.strong ? "strong" : "weak"},
               {"zero", scaling.plan.zero},
               {"bucket_bytes", scaling.plan.gradients.bucket.value()},
               {"overlap", scaling.plan.gradients.overlap},
               {"spread", scaling.plan.spread},
               {"input_bound_by", scaling.bound_by.empty() ? Json() : Json(scaling.bound_by)},
               {"points", std::move(points)},
               {"pays_up_to", OrNull(scaling.pays_up_to)},
               {"notes", scaling.notes}})
             .dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

std::string StepTrace(const Scaling& scaling) {
  const ScalePoint& last = scaling.points.back();
  return ChromeTrace(last.step.timeline, fmt::format("one of {} devices", last.devices));
}

}  // namespace dlcost
