#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/roofline/run.h"
#include "estimator/roofline/timing_device.h"
#include "models/algorithms/gemm.h"
#include "models/algorithms/library.h"
#include "models/operators/op_cost.h"

namespace dlcost {

// A part of a kernel, once: one nest, what it moves, and where it finds that.
struct Part {
  const Kernel& kernel;
  LoopNest nest;
  DType type = DType::kUndefined;  // of its multiply-accumulates, else of most operations
  Work work;                       // of one run, products and everything else
  double read = 0, written = 0;    // bytes
  double stored = 0;               // part of those read, where the part says so: CostPart::stored
  int stored_bits = 0;             // of one weight there
  // Part of both, from the kernels before and to those after, and the weights that stay from run to
  // run; 0 where caches start cold.
  double passed = 0;
  double weights = 0;  // where its own stay: of the whole model, which pass before they come again
  double share = 1;    // of what all parts of the kernel move

  double bytes() const { return read + written; }
};

// Where parts run.
struct Target {
  const Device& device;
  const TimingDevice* timing;  // null: nothing is known of its memory, so that there is no time
  const Library& library;
  const RunOptions& options;
};

// The unit that products of a type run on.
struct ComputeUnit {
  double peak = 0;          // FLOP/s of the whole device
  double bytes = 4;         // of one element
  double energy_width = 4;  // EnergyWidth of its type
  bool tensor = false;
  // How much faster matrix units multiply what they add up in 16 bits: twice on a GeForce, whose
  // operands come as fast as on professional boards of the chip, so that its main loops reach a
  // larger share of the peak.
  double spare = 1;

  Pipe pipe() const { return tensor ? Pipe::kTensor : Pipe::kVector; }
};
// As the device's library computes them; none where the device has no rate for it.
std::optional<ComputeUnit> FindUnit(const Target& target, DType type);
// As nothing computes them faster.
std::optional<ComputeUnit> FindFastestUnit(const Target& target, DType type);
// The same on vector units.
std::optional<ComputeUnit> FindVectorUnit(const Target& target, DType type);
// The same, where what is loaded in `type` is multiplied and added in fp32.
std::optional<ComputeUnit> InFloat(const Target& target, DType type);

// The candidate that the device's library takes.
struct PartRun {
  Execution execution;  // no stages: it only streams data
  std::string runner_up;
  std::optional<PartTime> time;
  bool forced = false;  // it is what the user asks for
};

// A layer is a Python object whose own call takes so much of launch.call: on A100, V100, T4 and P4
// a GELU takes 4 to 6 us longer than an addition, a ReLU 5 to 7 (fit rows of the smallest sizes).
inline constexpr double kLayerCall = 0.4;
// What the host takes of a call for a tensor that looks at another's data: BERT under TorchScript
// on an A100, A10 and V100, where calls bound (FasterTransformer's guide; 0.15 to 0.25 fit as
// well).
inline constexpr double kViewCall = 0.2;
// What Python takes of a call between two that a model's own code makes, of functions or views:
// Transformer-XL takes 6.1 to 6.6 ms (A100) and 8.9 to 10.3 (V100) longer in Python than under
// TorchScript, which is 0.83 to 0.97 for each of them (NVIDIA's DeepLearningExamples, inference
// with both). Layers hold their share in what they prepare.
inline constexpr double kModelCall = 0.9;

class GemmTimer;

// The tile and the parts of k that the library takes for a product: on vector units by its rule, or
// the fastest where Library::linear_by_time; on matrix units the fastest that it has (by its rule
// without a timer), whose timer has the batch of Library::tuned_batch where there is one. Where
// blocks may not share k the fastest that walks all of it.
GemmOptions ChooseProduct(const Target& target, DType type, const GemmNest& nest,
                          const ComputeUnit& unit, const GemmTimer* timer, bool shares_k = true);

// Times only where there are a unit's rate and the time model's constants.
PartRun RunProduct(const Target& target, const Part& part, const GemmNest& nest);
PartRun RunConvolution(const Target& target, const Part& part, const ConvNest& nest);
PartRun RunAttention(const Target& target, const Part& part, const AttentionNest& nest);
PartRun RunRecurrence(const Target& target, const Part& part, const RecurrentNest& nest);
// An update where RunOptions::update is not one kernel for all: RunUpdate.
PartRun RunStream(const Target& target, const Part& part);
PartRun RunUpdate(const Target& target, const Part& part, const UpdatePasses& update);
// On a machine of systolic arrays, whatever the nest; `product`: its nest is run as one.
PartRun RunOnArrays(const Target& target, const Part& part, bool product);
// On the cores of a processor, likewise.
PartRun RunOnCores(const Target& target, const Part& part, bool product);

// The kernel's parts with what each moves. Where several run as kernels of their own, what one
// hands to the next goes through memory; the last has what no nest tells, such as masks.
std::vector<Part> PartsOf(const Kernel& kernel, const Target& target);

// What the host's call of a convolution or a batch normalization takes beyond another's: its
// library wants descriptors, a plan and memory to work in.
double SetupOfLayer(const TimingDevice& timing);

// The least multiply-accumulates of any kernel with this algorithm for a nest.
Count LeastMacs(const LoopNest& nest, Algorithm algorithm);

// Cache and launches as a part finds them; `weights` of its bytes are weights, or inputs that come
// in their place.
Conditions ConditionsOf(const Target& target, const Part& part, double weights = 0);

// Kernels that follow each other leave a power-limited board no pause to recover in: over all of
// them it does no more FLOP/s than its power carries. Raises time.seconds to that.
void ApplySustainedPower(const Target& target, const ComputeUnit& unit, double flops,
                         PartTime& time);

}  // namespace dlcost
