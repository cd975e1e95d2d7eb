#pragma once

#include <optional>

#include "estimator/roofline/call_queue.h"
#include "estimator/roofline/forced.h"
#include "estimator/roofline/run_memo.h"

namespace dlcost {

// The kernels of a plan as they run one after the other: those of equal numbers are looked at once,
// a framework's calls queue up, and what the user forces has to show.
class RunSequence {
 public:
  // `device` null: counts alone. `device` and `plan` outlive this.
  RunSequence(const Device* device, const RunOptions& run, const PlanOptions& plan);

  struct Step {
    const KernelRun& run;           // alone; lasts as long as the sequence
    std::optional<TimeRange> time;  // that it adds to those before it, where it has one
  };
  Step Add(const Kernel& kernel);

  // Some kernel multiplies and has no expected time: the sum of the others is no total.
  bool partial() const { return partial_; }
  // Throws Error for a choice of the user that no kernel shows.
  void Require(const InferredModel& model) const { forced_.Require(model); }
  const RunOptions& options() const { return options_; }
  const TimingDevice* timing() const { return runner_.timing(); }

 private:
  const RunOptions options_;
  const Runner runner_;
  RunMemo runs_{runner_};
  ForcedChoices forced_;
  CallQueue calls_;
  bool partial_ = false;
};

}  // namespace dlcost
