#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "estimator/parallel/hybrid_render.h"
#include "estimator/request/job.h"

namespace dlcost {

// A job laid out on devices.
struct ParallelRequest {
  JobOptions job;
  // "dp=4,pp=2,zero=1"; "auto": all plans of `devices`, the best first; "annotated" (or
  // "annotated=NAME"): as the file says.
  std::string plan = "auto";
  std::int64_t micro_batch = 1;
  std::int64_t global_batch = 0;  // 0: a micro-batch for each replica and stage
  std::string schedule = "1f1b";
  int devices = 0;                      // for auto; 0: a node's
  double spread = kDeviceSpread * 100;  // percent
  double expert_load = 1;               // tokens of the busiest device's experts over the mean
  std::string overlap;                  // exchanges beside computation: "tp,cp,ep,dp"
  GradientOptions gradients;            // of replicas without a pipeline
  std::function<void()>
      on_step;  // called for each step of a device that is looked at, by any thread
};
// Throws Error for a plan that does not fit itself, the system or the model.
PlanReport Parallelize(const ParallelRequest& request);

}  // namespace dlcost
