#pragma once

#include <memory>
#include <optional>
#include <string>

#include "estimator/plan/kernel.h"
#include "estimator/roofline/bound.h"
#include "estimator/roofline/expected.h"
#include "models/algorithms/execution.h"

namespace dlcost {

struct TimingDevice;

// How kernels start.
enum class Launch {
  kGraph,   // they follow each other: a graph, or a queue that its host keeps filled
  kEager,   // each is a framework's call, layers are called as Python objects
  kScript,  // each is a framework's call, from an interpreter without Python
};
std::string_view Name(Launch launch);  // "graph", "eager", "script"
std::optional<Launch> ParseLaunch(std::string_view name);
std::span<const Launch> Launches();

// When a framework's call settles which kernel of its library runs.
enum class Selection {
  kCall,      // at every call, as where a stopwatch calls it once
  kFirst,     // at the first call of a shape; later ones find the choice and set it up
  kCompiled,  // a library's likewise; a compiler's kernels, which are all others, need no choice
  kBuild,     // when the model was built, and the calls with it
};
std::string_view Name(Selection selection);  // "call", "first", "compiled", "build"
std::span<const Selection> Selections();     // all, in the order above

// How the parameters are updated.
enum class UpdateForm {
  kFused,    // one kernel for all tensors
  kForeach,  // operation by operation, each a kernel over all tensors
  kLoop,     // tensor by tensor, each operation a kernel
};
std::string_view Name(UpdateForm form);  // "fused", "foreach", "loop"
std::optional<UpdateForm> ParseUpdateForm(std::string_view name);
std::span<const UpdateForm> UpdateForms();

// How kernels run: what the user says about it.
struct RunOptions {
  MathMode math = MathMode::kDefault;
  CacheState cache = CacheState::kPassed;
  // What all weights of the model take, where runs of it follow each other and leave them as they
  // are (WeightsStay); 0: each run starts without.
  Bytes weights;
  Launch launch = Launch::kGraph;
  Selection selection = Selection::kCall;
  UpdateForm update = UpdateForm::kFused;
  // Kernels that want channels last convert what the file has channels first, each on its own; else
  // data lie as their kernels want them throughout the model.
  bool converts = true;
  // A convolution's own bias is added by a kernel of its own, as where nothing is fused with it
  // (PyTorch, aten/src/ATen/native/Convolution.cpp: output.add_ of the reshaped bias).
  bool bias_apart = false;
  // Normalizations over whole channels read channels first: where data lie channels last
  // (`converts` is false), they are copied before, and what comes out before the next kernel.
  bool planes_first = false;
  // Libraries get rows as they lie, of an odd number of 16-bit elements too, which no asynchronous
  // copy takes (Library::odd_rows), and channels (ConvOptions::pad_channels): nobody pads them.
  bool odd_rows = false;
  // Products whose weights are stored in 8 bits or fewer may quantize what they multiply them by,
  // and multiply integers.
  bool int8_blocks = false;
  // Of the ways that vector units have for a convolution the fastest runs, as where all were timed
  // before; else the one that the library ranks first.
  bool timed_convolutions = false;
  // A board pauses before each kernel, as where a stopwatch waits for it: it starts at full clock
  // and comes down within burst.time. Else it has been at work for long, at the clock that its
  // power sustains.
  bool rested = false;
  std::optional<Algorithm> conv;  // empty: as the device's library would choose
  AttentionForm attention = AttentionForm::kFlash;
  // Weights are used in turns: so many copies pass before one comes again (a measuring loop's).
  double weight_copies = 1;
  bool explain = false;  // fill in Expected::terms and advice: takes longer than the time itself

  BoundOptions ForBound() const {
    return {.math = math, .cache = cache, .weights = weights, .int8_blocks = int8_blocks};
  }
  bool Calls() const { return launch != Launch::kGraph; }  // every kernel is a framework's call
};

// One kernel as it runs: what its library executes, moves and launches, the time that nothing
// beats, and the time that it should take. Every view of a kernel is a view of this.
struct KernelRun {
  std::string algorithm;  // with parameters: "winograd F(2x2,3x3)", "gemm 128x64x8 + flash 128x64"
  std::string runner_up;  // what came second, "" when there was no choice
  Count launches;         // of all runs of the kernel
  bool forced = false;    // an algorithm that the user asked for runs
  Work executed;          // what the algorithm issues; Kernel::needed where no model says more
  // The least that any kernel with this algorithm issues: Winograd needs fewer multiplications than
  // the mathematics written down. For the bound.
  Work least;
  // Stages, terms, tiles, traffic beside the operands, workspace, over all runs of the kernel. Null
  // for kernels that only stream data, and without a device.
  std::shared_ptr<const Execution> execution;
  Bound bound;
  std::optional<Expected> expected;
};

// Runs kernels on one device, or on none: without a device executed work is what is needed.
class Runner {
 public:
  Runner(const Device* device, const RunOptions& options);
  // With other constants of the time model than the device's own.
  Runner(const Device& device, const RunOptions& options, const TimingDevice& timing);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Throws Error for a forced algorithm that is none of convolutions.
  KernelRun Run(const Kernel& kernel) const;
  // What the time model knows of the device; null without a device or without its bandwidth.
  const TimingDevice* timing() const { return timing_.get(); }

 private:
  const Device* device_;
  RunOptions options_;
  std::unique_ptr<const TimingDevice> timing_;
};

// Executed instructions as work: FMAs are MACs, special functions exponentials.
Work ToWork(const Execution& execution);

}  // namespace dlcost
