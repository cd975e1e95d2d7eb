#pragma once

#include <string>
#include <vector>

#include "estimator/parallel/data_parallel.h"
#include "estimator/parallel/exchange_overlap.h"
#include "estimator/parallel/pipeline.h"

namespace dlcost {

// How a model is laid out on devices: replicas, stages of a pipeline in each, and devices that
// split the operators of a stage and the sequence. Those that split operators are next to each
// other, then those that split the sequence, then replicas, then stages: what exchanges most has
// the nearest links (as Megatron-LM places them). Whole experts are shared out among replicas and
// devices that split the sequence, neighbours first; with sp those that split operators are among
// them ("folded", with experts that are not split, as Megatron Core lays them out).
struct HybridPlan {
  int data = 1;           // dp
  int tensor = 1;         // tp: operators split among neighbours
  bool sequence = false;  // sp: and the rest along the sequence
  int context = 1;        // cp: the sequence split, in attention too
  int experts = 1;        // ep: devices that share out whole experts, some of data * context
  int stages = 1;         // pp
  int zero = 0;           // sharded among the replicas
  bool copies = false;    // fsdp=2: with zero=3, by buffers (data_parallel.h)
  int chunks = 1;         // of the model per device, for an interleaved schedule
  std::int64_t micro_batch = 1;
  std::int64_t global_batch = 1;
  double spread = 0;  // of the devices' speeds: the step is that of the slowest (slowest.h)
  PipelineSchedule schedule = PipelineSchedule::kOneFOneB;
  ExchangeOverlap overlap;
  GradientSends gradients;  // `bucket` and `overlap`: without a pipeline

  bool folds() const { return sequence && tensor > 1 && experts > 1; }
  // Among whom experts are shared out.
  int sharers() const { return replicas() * (folds() ? tensor : 1); }
  int devices() const { return replicas() * tensor * stages; }
  // Devices that have the same parameters, and add up gradients.
  int replicas() const { return data * context; }
  // Micro-batches that a replica passes through its pipeline in a step.
  std::int64_t micro_batches() const { return global_batch / (micro_batch * data); }
};

// Chunks of a pipeline: what is placed one by one stays small.
inline constexpr int kMostChunks = 512;

// "dp=4,pp=2,zero=1", in any order, each at most once. Throws Error for anything else, with the
// nearest spelling.
HybridPlan ParsePlan(const std::string& text);
// "dp=4,pp=2,zero=1"
std::string ToString(const HybridPlan& plan);

// Throws Error where the batch does not divide, a schedule does not fit, or ZeRO 2 and 3 meet a
// pipeline (its gradients last over micro-batches); says what would do.
void CheckPlan(const HybridPlan& plan);

struct HybridStep {
  HybridPlan plan;
  Seconds time;
  Seconds exposed;                    // communication between replicas that nothing hides
  double bubble = 0;                  // share of the pipeline's time in which its devices wait
  Bytes memory;                       // of the device that needs the most
  Bytes saved;                        // part of it: what micro-batches on the way keep for later
  Bytes lasting;                      // another: weights, gradients and states
  Seconds split;                      // exchange of split operators, of the slowest device
  Seconds hidden;                     // exchange that runs beside computation
  int exchanges = 0;                  // of those, of a micro-batch on one device
  Bytes exchanged;                    // sent in them, as rings count
  Bytes sent;                         // by a device in a step: those, and gradients and parameters
  std::vector<PipelineStage> stages;  // of one micro-batch, chunk by chunk

  double Throughput() const { return static_cast<double>(plan.global_batch) / time.value(); }
};

// A step by the plan. `profile` is that of one micro-batch. Beyond two micro-batches per stage,
// each further one adds the time of the slowest stage.
HybridStep RunHybrid(const StepProfile& profile, const System& system, const HybridPlan& plan);

}  // namespace dlcost
