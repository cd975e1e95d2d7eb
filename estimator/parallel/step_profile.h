#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "estimator/collective/collective.h"
#include "estimator/infer/infer.h"
#include "estimator/onnx/device_configuration.h"
#include "estimator/report/report.h"

namespace dlcost {

// What the devices that split an operator exchange.
struct Exchange {
  CollectiveOp op = CollectiveOp::kAllReduce;
  Bytes bytes;  // as CollectiveCall counts
  int devices = 1;
  int stride = 1;          // from one of them to the next
  bool parameter = false;  // a gradient of a parameter: may wait for the others
  int channels = 0;        // processors that its kernel holds, 0: not known
};

// Memory that parameters take, and what is sent of their gradients.
struct ParameterBytes {
  Bytes weights, gradients, states, sent_gradients;
  Bytes gradient_sums;  // where they add up over micro-batches
};

// What kernels that add or copy tensors take on a device, however large these are.
struct StreamingTime {
  Seconds start;
  ByteRate rate;  // 0: not known, they take no time
  // Of `kernels` that read and write so many bytes in all; 0 of them: of what others do besides.
  Seconds Of(Bytes bytes, std::size_t kernels = 1) const {
    return rate == ByteRate() ? Seconds() : bytes / rate + start * static_cast<double>(kernels);
  }
};

// A kernel of a training step as plans for many devices see it.
struct StepKernel {
  std::string name;
  Phase phase = Phase::kForward;
  Seconds time;            // expected
  Bytes gradients;         // of parameters, complete once it has run, as they are sent
  Bytes expert_gradients;  // part of them: of experts that not every replica has
  Bytes trained;           // the parameters of these gradients, as they are stored
  Bytes expert_trained;    // part of them
  Bytes summed;            // the sums that they add up in over micro-batches
  std::size_t sums = 0;    // how many these are, each added up by a kernel of its own
  Bytes weights;           // that no kernel before it reads
  Bytes expert_weights;    // part of them
  Bytes outer_weights;     // another: of nodes in no module, where the kernel is in one
  // Behind a forward kernel: results of kernels up to it that later forward kernels read.
  Bytes passed;
  std::optional<Exchange> exchange;  // instead of computing
  Bytes saved;                       // of what it makes, for the backward pass
  Bytes live;                        // beside what lasts while it runs, its workspace included
  bool product = false;              // it multiplies and adds up
  std::string module;                // that repeats, "" for none (ModuleOf)
};

// A training step of one device: what runs in which order, and what memory it holds.
struct StepProfile {
  std::vector<StepKernel> kernels;  // in order
  std::int64_t items = 1;           // trained by the step: its batch
  Bytes weights;
  Bytes gradients;    // in memory
  Bytes states;       // of the optimizer, float32 copies of narrower weights included
  Bytes activations;  // the most that is live beside those in the passes
  Bytes updating;     // and in the update, which ZeRO parts
  // What one device needs that passes one micro-batch and exchanges nothing, as a report says: its
  // gradients live from where they are made to the update.
  Bytes alone;
  Bytes saved;  // of the forward pass, for the backward pass
  // Gradients where they add up over micro-batches: in float32 where one of them is narrower.
  Bytes gradient_sums;
  // What all-reduces send: `gradients` in another type where one is asked for.
  Bytes sent_gradients;
  std::int64_t routed_experts = 0;  // that a token meets some of; 0: none
  ParameterBytes experts;           // part of all these: of whole experts that few devices have

  // The stage of a pipeline that each kernel is annotated for; none where the file says nothing.
  std::vector<int> stages;
  bool trains = true;
  int processors = 0;              // of its device, that collectives take some of; 0: not known
  StreamingTime streaming;         // on its device
  bool exchanges = false;          // devices that split its operators or sequence wait for others
  std::vector<std::string> notes;  // about how they do
  Macs macs;                       // of this device

  std::int64_t unknown = 0;  // nodes whose work nobody knows: times are at least these

  // What an update needs beside all that lasts. Sums over micro-batches are its copies in float32.
  Bytes Updating(std::int64_t micro_batches) const;
  // A line for people about `unknown`; "" where everything is known.
  std::string Note() const;
  Seconds Time(Phase phase) const;
  Seconds Time() const;
  // The same where this share of the micro-batches adds its gradients to sums; `fused`: the kernels
  // that make them do, which write sums then and no gradients.
  StepProfile WithSums(double share, bool fused = false) const;
  // The same on a device that computes so many times as long; exchanges do not.
  StepProfile Slowed(double factor) const;
  // What devices that split operators exchange: times, number and bytes as rings count.
  Seconds ExchangeTime() const;
  int Exchanges() const;
  Bytes Exchanged() const;
};

// The part of a device's processors that a collective's kernel holds; 0 where either is not known.
inline double HeldShare(int channels, int processors) {
  return channels < processors ? static_cast<double>(channels) / processors : 0;
}

// Types of gradients besides the one that they are stored in.
struct GradientTypes {
  std::optional<DType> sent;    // none: as they are stored
  std::optional<DType> summed;  // over micro-batches; none: float32, wider ones as they are
};

// Profile of a step (--train), or of a forward pass alone, with the kernels and times of a report
// with these options.
// Exchanges take the time that the system's links need, gradients of parameters that are parts all
// at once. `experts`: names of the parameters that only some of the replicas have (ExpertPlaces).
// Throws Error for a step without gradients, and for a model whose kernels have no expected time.
StepProfile ProfileOf(const InferredModel& step, const Device& device, const ReportOptions& options,
                      const System& system, std::int64_t items, const GradientTypes& types = {},
                      const std::set<std::string>& experts = {});

// The stages of a pipeline that a file is annotated with, of every kernel: what has no annotation
// is in the stage of what it reads. Throws Error where something reads what a later stage makes.
std::vector<int> AnnotatedStages(const InferredModel& model, const StepProfile& profile,
                                 const DeviceConfiguration& annotations);

}  // namespace dlcost
