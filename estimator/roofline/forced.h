#pragma once

#include "estimator/plan/kernel.h"
#include "estimator/roofline/run.h"

namespace dlcost {

// What the user forces, a convolution's algorithm or a form of attention, shows in a kernel, or is
// an error that names what would.
class ForcedChoices {
 public:
  // `device` null: counts alone. All three outlive this.
  ForcedChoices(const Device* device, const RunOptions& run, const PlanOptions& plan)
      : device_(device), run_(run), plan_(plan) {}

  // Every kernel of a plan with these options, as it runs.
  void Add(const Kernel& kernel, const KernelRun& run);
  // Throws Error for a choice that none of the kernels shows.
  void Require(const InferredModel& model) const;

 private:
  void RequireConvolution(const InferredModel& model) const;
  void RequireAttention(const InferredModel& model) const;

  const Device* device_;
  const RunOptions& run_;
  const PlanOptions& plan_;
  bool convolution_runs_so_ = false, attention_runs_ = false;
};

}  // namespace dlcost
