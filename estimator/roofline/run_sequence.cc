#include "estimator/roofline/run_sequence.h"

namespace dlcost {

RunSequence::RunSequence(const Device* device, const RunOptions& run, const PlanOptions& plan)
    : options_(run),
      runner_(device, run),
      forced_(device, options_, plan),
      calls_(device != nullptr && IsOwnHost(*device)) {}

RunSequence::Step RunSequence::Add(const Kernel& kernel) {
  const KernelRun& run = runs_.Run(kernel);
  std::optional<TimeRange> time;
  if (run.expected) {
    time = options_.Calls()
               ? calls_.Add(*run.expected, kernel.repeat.AsDouble(), run.bound.time.value())
               : run.expected->time;
  }
  forced_.Add(kernel, run);
  // Products that no rate is public for.
  partial_ |= !run.expected && timing() != nullptr && kernel.repeat > Count(0) && !kernel.unknown &&
              kernel.work.macs() > Macs(0);
  return {run, time};
}

}  // namespace dlcost
