#include <fmt/format.h>

#include <algorithm>

#include "estimator/roofline/elementwise_time.h"
#include "estimator/roofline/part.h"
#include "estimator/roofline/terms.h"
#include "models/algorithms/pointwise.h"

namespace dlcost {
namespace {

// One launch per pass over all tensors together, or over each.
std::vector<Count> LaunchesOf(const UpdatePasses& update, UpdateForm form) {
  if (form == UpdateForm::kLoop) return update.tensors;
  Count all;
  for (const Count elements : update.tensors) all += elements;
  return {all};
}

Execution ExecutionOf(const UpdatePasses& update, UpdateForm form, const Part& part) {
  const std::vector<Count> launches = LaunchesOf(update, form);
  Count elements, largest;
  for (const Count one : launches) {
    elements += one;
    largest = std::max(largest, one);
  }
  const auto size = [&](int tensors) { return SizeOf(part.type, elements * tensors); };
  Execution execution{.name = fmt::format("{} of {} passes", Name(form), update.passes.size())};
  for (const UpdatePass& pass : update.passes) {
    execution.stages.push_back({.name = std::string(pass.name),
                                .launches = Count(static_cast<std::int64_t>(launches.size())),
                                .extra_read = size(pass.again_read),
                                .extra_written = size(pass.again_written)});
  }
  execution.workspace = SizeOf(part.type, largest * update.temporaries);
  AddPointwise(execution, "update", TermKind::kPointwise, part.work);
  return execution;
}

}  // namespace

PartRun RunUpdate(const Target& target, const Part& part, const UpdatePasses& update) {
  PartRun run;
  const UpdateForm form = target.options.update;
  run.execution = ExecutionOf(update, form, part);
  if (target.timing == nullptr) return run;
  const TimingDevice& device = *target.timing;
  const std::vector<Count> launches = LaunchesOf(update, form);
  const double element = Bits(part.type) / 8.0;
  PartTime& time = run.time.emplace();
  TermWriter terms(time.terms);
  for (const UpdatePass& pass : update.passes) {
    double seconds = 0, bytes = 0;
    for (const Count elements : launches) {
      StreamProblem p;
      p.element_bytes = element;
      p.bytes = elements.AsDouble() * (pass.reads + pass.writes) * element;
      Conditions conditions{.eager = target.options.Calls(), .rested = target.options.rested};
      // What an earlier pass over the same tensor touched may still be in the cache.
      conditions.kept_rest =
          static_cast<double>(pass.again_read) / std::max(pass.reads + pass.writes, 1);
      const StreamTime t = ExpectedStream(device, p, conditions);
      time.launch += t.launch_seconds;
      time.memory += t.memory_seconds;
      time.units += std::max(t.arithmetic_seconds, t.fill_seconds);
      seconds += t.seconds;
      bytes += p.bytes;
    }
    time.seconds += seconds;
    if (target.options.explain) {
      terms.Time(std::string(pass.name), seconds);
      terms.Below().Fact("traffic", bytes, "B", "read and written");
    }
  }
  time.range = device[Constant::kRangeElementwise];
  time.calls = static_cast<double>(update.passes.size() * launches.size());
  return run;
}

}  // namespace dlcost
