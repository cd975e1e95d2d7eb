#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "estimator/parallel/division.h"
#include "estimator/parallel/hybrid.h"
#include "estimator/parallel/slowest.h"
#include "estimator/parallel/step_profile.h"
#include "estimator/request/count_options.h"
#include "estimator/request/device_options.h"
#include "estimator/request/model_options.h"

namespace dlcost {

// A model on a system of devices.
struct JobOptions {
  ModelOptions model;
  DeviceOptions device;
  CountOptions count;
  std::string system;
  const System* found = nullptr;  // instead, where it was found already
};

// How replicas send gradients.
struct GradientOptions {
  GradientSends sends;
  std::string type;  // "": as they are
  // Type of their sums over micro-batches; "": float32, wider ones as they are.
  std::string sums;
};
// Throws Error for types that no gradient is sent in or adds up in.
GradientTypes GradientTypesOf(const GradientOptions& options);

// --spread, in percent, as a share; throws Error for one that is none.
double SpreadOf(double percent);

// The system of --system, whose device is taken where --gpu names no other. `options` lasts as long
// as this.
class Job {
 public:
  // `batch_option`: what says how many items a profile is asked for, for messages. `once`: one
  // profile will be asked for, so that nothing is kept for others. Throws Error where the options
  // name no system.
  Job(const JobOptions& options, std::string_view batch_option, bool once = false);

  const System& system() const { return system_; }
  const Device& device() const { return *device_; }
  // What one device does with a batch of so many items. May be asked by several threads at once.
  // Throws Error where --dim or --input binds the batch to a size of its own.
  StepProfile Profile(std::int64_t batch, const GradientTypes& types = {},
                      const Division& division = {}) const;
  // Throws Error for a number of devices that the system does not join.
  void CheckSize(const std::string& what, std::int64_t devices) const;

 private:
  const JobOptions& options_;
  const std::string_view batch_option_;
  const bool once_;
  System system_;
  std::optional<Device> device_;
  ReportOptions report_;
  StreamingTime streaming_;
  // The model of a batch, inferred once for all divisions.
  struct Whole {
    std::once_flag once;
    std::optional<InferredModel> model;
  };
  const InferredModel& WholeOf(std::int64_t batch, const ModelOptions& options) const;

  mutable std::once_flag read_;  // the model, with the first profile
  mutable std::optional<Model> model_;
  mutable std::mutex guard_;  // of `wholes_`
  mutable std::map<std::int64_t, Whole> wholes_;
};

// A plan that is told, not looked for.
struct JobPlan {
  std::string plan;
  std::int64_t micro_batch = 1;
  std::int64_t global_batch = 0;  // 0: a micro-batch for each replica and stage
  std::string schedule = "1f1b";
  double spread = kDeviceSpread * 100;  // percent
};
// The plan with its batches and schedule. Throws Error where it does not fit itself, the job's
// system, or, without training, a forward pass.
HybridPlan PlanOf(const JobPlan& options, const Job& job, HybridPlan plan, bool trains);
// Throws Error for a number of items that no step has; 0 stands for none given.
void CheckItems(const std::string& option, std::int64_t items);
// What it comes to, for reports.
JobFacts FactsOf(const Job& job, const HybridStep& step);

}  // namespace dlcost
