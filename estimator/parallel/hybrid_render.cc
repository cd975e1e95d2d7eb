#include "estimator/parallel/hybrid_render.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "estimator/report/format.h"
#include "estimator/report/table.h"

namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

bool Fits(const PlanReport& report, const HybridStep& step) {
  return !report.memory || step.memory <= *report.memory;
}

std::string Schedule(const HybridStep& step) {
  return step.plan.stages == 1 ? "-" : std::string(Name(step.plan.schedule));
}

void AddRow(Table& table, const PlanReport& report, const HybridStep& step) {
  table.Add({ToString(step.plan), std::to_string(step.plan.micro_batch),
             std::to_string(step.plan.micro_batches()), Schedule(step), ReadableTime(step.time),
             Readable(step.Throughput()), fmt::format("{:.1f} %", step.bubble * 100),
             ReadableTime(step.exposed),
             ReadableBytes(step.memory) +
                 (Fits(report, step) ? ""
                                     : fmt::format(" ({} too much)",
                                                   ReadableBytes(step.memory - *report.memory)))});
}

std::string StagesText(const PlanReport& report, const HybridStep& step, std::size_t max_width) {
  Table table({"chunk", "on", "from", "to", "forward", "backward", "weights", "passes on"},
              {false, false, true, true, false, false, false, false});
  for (std::size_t c = 0; c < step.stages.size(); ++c) {
    const PipelineStage& stage = step.stages[c];
    table.Add({std::to_string(c), std::to_string(c % static_cast<std::size_t>(step.plan.stages)),
               report.profile.kernels[stage.first].name, report.profile.kernels[stage.last].name,
               ReadableTime(stage.forward), ReadableTime(stage.backward),
               ReadableBytes(stage.weights), ReadableBytes(stage.passed)});
  }
  table.MayDrop({"passes on", "weights", "on"});
  return "\nstages, of one micro-batch\n" + table.Fit(max_width, "-o FILE or a pipe has them");
}

// What devices that split operators exchange.
std::string SplitText(const HybridStep& step) {
  if (step.exchanges == 0) return "";
  const int split = step.plan.tensor * step.plan.context;
  return fmt::format(
      "\n{}{}: {} exchanges and {} sent by a device in a micro-batch, {} of the step{}\n",
      split > 1 ? fmt::format("split among {}", split) : "",
      step.plan.experts == 1
          ? ""
          : fmt::format("{}experts shared out among {}", split > 1 ? ", " : "", step.plan.experts),
      step.exchanges, ReadableBytes(step.exchanged), ReadableTime(step.split),
      step.hidden > Seconds()
          ? fmt::format(", and {} beside computation", ReadableTime(step.hidden))
          : "");
}

Json StagesJson(const PlanReport& report, const HybridStep& step) {
  Json stages = Json::array();
  if (report.steps.size() > 1) return stages;  // kernels are those of the best plan
  for (std::size_t c = 0; c < step.stages.size(); ++c) {
    const PipelineStage& stage = step.stages[c];
    stages.push_back({{"chunk", c},
                      {"on", c % static_cast<std::size_t>(step.plan.stages)},
                      {"from", report.profile.kernels[stage.first].name},
                      {"to", report.profile.kernels[stage.last].name},
                      {"forward_s", stage.forward.value()},
                      {"backward_s", stage.backward.value()},
                      {"send_s", stage.send.value()},
                      {"weight_bytes", stage.weights.value()},
                      {"passed_bytes", stage.passed.value()}});
  }
  return stages;
}

Json StepJson(const PlanReport& report, const HybridStep& step) {
  return {{"plan", ToString(step.plan)},
          {"devices", step.plan.devices()},
          {"micro_batch", step.plan.micro_batch},
          {"micro_batches", step.plan.micro_batches()},
          {"global_batch", step.plan.global_batch},
          {"schedule", Schedule(step)},
          {"step_s", step.time.value()},
          {"items_per_s", step.Throughput()},
          {"bubble", step.bubble},
          {"exposed_communication_s", step.exposed.value()},
          {"split_exchanges", step.exchanges},
          {"split_sent_bytes", step.exchanged.value()},
          {"split_communication_s", step.split.value()},
          {"split_hidden_s", step.hidden.value()},
          {"sent_bytes", step.sent.value()},
          {"memory_bytes", step.memory.value()},
          {"saved_bytes", step.saved.value()},
          {"lasting_bytes", step.lasting.value()},
          {"fits", report.memory ? Json(Fits(report, step)) : Json()},
          {"stages", StagesJson(report, step)}};
}

}  // namespace

std::string PlanText(const PlanReport& report, std::size_t top, std::size_t max_width) {
  const std::string note = report.profile.Note();
  std::string notes = note.empty() ? "" : "note: " + note + "\n";
  for (const std::string& each : report.profile.notes) notes += "note: " + each + "\n";
  std::string text = fmt::format("{} on {} x {} of {}, {} items a step\n\n", report.model,
                                 report.steps.front().plan.devices(), report.device, report.system,
                                 report.steps.front().plan.global_batch);
  const std::vector<std::string> head = {"plan",     "micro-batch", "passes",
                                         "schedule", "step",        "items/s",
                                         "bubble",   "exposed",     "memory per device"};
  const std::vector<bool> left = {true, false, false, true, false, false, false, false, false};
  const auto fitted = [max_width](Table& table) {
    table.MayDrop({"schedule", "exposed", "bubble", "passes", "items/s"});
    return table.Fit(max_width, "--format json has them");
  };
  if (report.steps.size() == 1) {
    Table table(head, left);
    AddRow(table, report, report.steps.front());
    text += fitted(table) + SplitText(report.steps.front());
    if (!report.steps.front().stages.empty()) {
      text += StagesText(report, report.steps.front(), max_width);
    }
    return text + notes;
  }
  Table fitting(head, left), others(head, left);
  std::size_t shown = 0, left_out = 0, too_large = 0;
  for (const HybridStep& step : report.steps) {
    if (Fits(report, step)) {
      if (shown < top) {
        AddRow(fitting, report, step);
        ++shown;
      } else {
        ++left_out;
      }
    } else if (++too_large <= top / 2) {
      AddRow(others, report, step);
    }
  }
  if (shown > 0) text += fitted(fitting);
  if (left_out > 0) text += fmt::format("\n{} further plans fit and are slower.\n", left_out);
  if (too_large > 0) {
    text += fmt::format("\n{} plan{} not fit into the {} of a device, the fastest:\n", too_large,
                        too_large == 1 ? " does" : "s do", ReadableBytes(*report.memory)) +
            fitted(others);
  }
  if (report.too_large > 0) {
    text += fmt::format(
        "\nwith larger micro-batches {} way{} to divide the model {} left out: nothing fits "
        "already\n",
        report.too_large, report.too_large == 1 ? "" : "s", report.too_large == 1 ? "is" : "are");
  }
  if (!report.left_out.empty()) text += fmt::format("\nleft out: {}\n", report.left_out);
  if (shown == 0) text += "\nno plan fits: more devices, smaller micro-batches or recomputation\n";
  return text + notes;
}

std::string PlanJson(const PlanReport& report, std::size_t top) {
  Json steps = Json::array();
  for (const HybridStep& step : report.steps) {
    if (steps.size() < top || report.steps.size() == 1) steps.push_back(StepJson(report, step));
  }
  return Json({{"schema", "dlcost.parallel/1"},
               {"model", report.model},
               {"system", report.system},
               {"device", report.device},
               {"unknown_nodes", report.profile.unknown},
               {"macs", report.profile.macs.value()},
               {"notes", report.profile.notes},
               {"left_out", report.left_out.empty() ? Json() : Json(report.left_out)},
               {"plans_tried", report.steps.size()},
               {"plans", std::move(steps)}})
             .dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace dlcost
