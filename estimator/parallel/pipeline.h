#pragma once

#include <string>
#include <vector>

#include "estimator/parallel/step_profile.h"
#include "estimator/timeline/timeline.h"

namespace dlcost {

// In which order the stages of a pipeline work on micro-batches.
enum class PipelineSchedule {
  kGPipe,        // all forward passes, then all backward passes (Huang et al., 2019)
  kOneFOneB,     // one forward, one backward once the pipeline is full (PipeDream-Flush, 2020)
  kZeroBubble,   // 1F1B whose gradients of weights fill the gaps (Qi et al., 2023: ZB-H1)
  kInterleaved,  // 1F1B with several chunks of the model per device (Megatron-LM, 2021)
};
std::string_view Name(PipelineSchedule schedule);  // "gpipe", "1f1b", "zb-h1", "interleaved"
// Throws Error with the nearest spelling.
PipelineSchedule ParsePipelineSchedule(const std::string& name);

// One chunk of the model: what a device does for one micro-batch.
struct PipelineChunk {
  Seconds forward, backward;
  Seconds send;         // of its result to the next chunk, and of the gradient back
  Seconds for_weights;  // part of `backward` that no other chunk waits for
};

// `chunks` in the order of the model, `devices` of them at a time next to each other: device d has
// chunks d, d + devices, ... Throws Error where the chunks do not divide among the devices, or the
// micro-batches of an interleaved schedule do not.
Timeline PipelineTimeline(const std::vector<PipelineChunk>& chunks, int devices, int micro_batches,
                          PipelineSchedule schedule);

// With zb-h1 the gradients of weights wait for a gap: of p equal stages the devices idle for
// (p - 1) (F + B - W) instead of (p - 1) (F + B + W), where W is for weights and B the rest.

// The share of time in which the devices do nothing while micro-batches pass: (p - 1) / (m + p - 1)
// of p equal stages and m micro-batches, (p - 1) / (v m + p - 1) with v chunks per device.
double BubbleOf(const Timeline& timeline);

// Cuts the forward kernels of a step into `stages` runs of kernels, none of which takes longer than
// it must: the largest stage (forward and backward) is at most 5 % above the least that is
// possible, and of such cuts the one over which the fewest bytes pass. The backward pass of a
// kernel belongs to the stage of its forward pass.
struct PipelineStage {
  std::size_t first = 0, last = 0;  // kernels of the profile, `last` included
  Seconds forward, backward, update;
  Seconds for_weights;                     // of `backward`, for gradients of weights
  Bytes weights, gradients, passed;        // `passed`: sent to the next stage
  Bytes saved;                             // of one micro-batch, for the backward pass
  Bytes expert_weights, expert_gradients;  // part of `weights` and `gradients`
  Seconds send;                            // of `passed`, over the links of the plan
};
// Where the profile has stages of its own, those. Throws Error where they are others than asked
// for.
std::vector<PipelineStage> BalancedStages(const StepProfile& profile, int stages);

}  // namespace dlcost
