#pragma once

#include "estimator/parallel/step_profile.h"
#include "estimator/system/system.h"
#include "estimator/timeline/timeline.h"

namespace dlcost {

// How the gradients of replicas are sent, and add up before that.
struct GradientSends {
  // Once so many are complete: 25 MiB as in PyTorch's DistributedDataParallel.
  Bytes bucket = Bytes(25 << 20);
  bool overlap = true;      // while the backward pass goes on, not behind it
  bool fused_sums = false;  // over micro-batches, by the kernels that make them
};

// Every device trains its own items with the same parameters.
struct DataParallelPlan {
  int devices = 1;
  int stride = 1;  // from one of them to the next: devices between split operators
  // Whole experts are shared out among so many neighbours: each is on devices / experts of them.
  int experts = 1;
  bool folds = false;  // those between, that split operators, are among these neighbours
  // What devices share out instead of each holding all of it: 1 states of the optimizer, 2
  // gradients too, 3 parameters too (Rajbhandari et al., ZeRO, 2020; FSDP is 3).
  int zero = 0;
  // With 3: parameters are gathered into a buffer of their own and copied out of it, and gradients
  // are copied into one, as PyTorch's FSDP2 shards each parameter (`fully_shard`).
  bool copies = false;
  GradientSends gradients;
  // With ZeRO 1 and 2: parameters are gathered while the next forward pass goes on, a bucket ahead,
  // instead of behind the update.
  bool gathers_ahead = false;
  double spread = 0;  // of the devices' speeds: the step is that of the slowest (slowest.h)
};

// A step of one of the devices: all do the same.
struct ParallelStep {
  // Resources: compute stream, communication stream, and one for what devices that split operators
  // exchange, which computation waits for.
  Timeline timeline;
  Seconds time;
  Seconds compute, communication;  // busy
  Seconds exposed;                 // communication that no computation hides
  Seconds slowed;                  // by which computation is longer beside communication
  int collectives = 0;
  Bytes sent;             // by a device, as rings count
  Bytes memory;           // weights, gradients, states and activations of a device
  std::string algorithm;  // of the largest collective
  std::string link;       // that limits it
};

// Buckets of gradients in the order in which the backward pass completes them are all-reduced
// (ZeRO: reduce-scattered) on a stream of their own; the update waits for the last. With ZeRO 1 and
// 2 each device updates its part and the parameters are gathered behind it. With ZeRO 3 the
// parameters of the next bucket are gathered while one computes, before its forward and again
// before its backward pass. Throws Error where the system does not join as many devices.
ParallelStep RunDataParallel(const StepProfile& profile, const System& system,
                             const DataParallelPlan& plan);

// The devices that have the same experts.
DeviceGroup ExpertReplicas(const DataParallelPlan& plan);

// The part of an update that each of them does.
double UpdatedShare(const StepProfile& profile, const DataParallelPlan& plan);

// Weights, gradients and states of one device: what is there all the time. Gradients have room of
// their own where replicas exchange them or micro-batches add them up.
Bytes LastingOf(const StepProfile& profile, const DataParallelPlan& plan,
                std::int64_t micro_batches);
// Memory of one device that passes so many micro-batches before an update.
Bytes MemoryOf(const StepProfile& profile, const DataParallelPlan& plan,
               std::int64_t micro_batches = 1);

}  // namespace dlcost
