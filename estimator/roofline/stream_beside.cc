#include "estimator/roofline/stream_beside.h"

#include <algorithm>

#include "estimator/core/integer.h"
#include "estimator/roofline/elementwise_time.h"
#include "estimator/roofline/terms.h"
#include "models/algorithms/pointwise.h"

namespace dlcost {
namespace {

// The kernel itself, along rows or channels, which whatever it takes beside its operands stands
// behind.
Stage& KernelOf(const Part& part, PartRun& run, const char* name = "rows") {
  if (run.execution.stages.empty()) {
    AddPointwise(run.execution, name, TermKind::kPointwise, part.work);
  }
  return run.execution.stages.front();
}

// Kernels beside it.
void AddBeside(const Target& target, const char* name, double seconds, PartRun& run) {
  run.time->apart += seconds;
  run.time->seconds += seconds;
  if (target.options.explain) TermWriter(run.time->terms).Time(name, seconds);
}

// Less than a hundredth of the kernel's bytes is none.
void ReadAgain(const Part& part, double bytes, PartRun& run) {
  if (bytes < 0.01 * part.bytes()) return;
  run.execution.name = "rows read again";
  KernelOf(part, run).extra_read = Bytes(RoundToInteger(bytes));
}

// Channels last to channels first before the kernel, and back before the next: each reads and
// writes all of the data.
constexpr double kCopiesOfPlanes = 2;

void AddCopiesOfPlanes(const Target& target, const Part& part, PartRun& run) {
  const auto* rows = std::get_if<ReduceNest>(&part.nest);
  const RunOptions& options = target.options;
  if (rows == nullptr || !rows->planes || !options.planes_first || options.converts) return;
  const Bytes bytes = SizeOf(part.type, rows->outer * rows->reduce);
  const StreamTime copy = ExpectedStream(
      *target.timing,
      {.bytes = 2 * bytes.AsDouble(), .element_bytes = std::max(Bits(part.type), 4) / 8.0},
      ConditionsOf(target, part, 0));
  run.execution.name = "channels first, and back";
  KernelOf(part, run);
  run.execution.stages.push_back(
      {.name = "copies", .launches = 2, .extra_read = bytes * 2, .extra_written = bytes * 2});
  AddBeside(target, "channels first, and back", kCopiesOfPlanes * copy.seconds, run);
}

// Sums over all rows are a kernel of its own, which reads the data and its gradient once more
// (PyTorch, layer_norm_kernel.cu: GammaBetaBackwardCUDAKernel beside layer_norm_grad_input_kernel).
void AddSumsAcross(const Target& target, const Part& part, PartRun& run) {
  const auto* rows = std::get_if<ReduceNest>(&part.nest);
  if (rows == nullptr || !rows->across) return;
  const Bytes bytes = SizeOf(part.type, rows->outer * rows->reduce) * 2;
  Conditions conditions = ConditionsOf(target, part, 0);
  conditions.kept_rest = 1;  // the kernel before has read it
  const StreamTime sums = ExpectedStream(
      *target.timing,
      {.bytes = bytes.AsDouble(), .element_bytes = std::max(Bits(part.type), 4) / 8.0}, conditions);
  run.execution.name = "rows, then sums over all";
  KernelOf(part, run);
  run.execution.stages.push_back({.name = "sums over rows", .extra_read = bytes});
  AddBeside(target, "sums over rows", sums.seconds, run);
}

// PyTorch's own batch normalization converts the running mean and works out the deviation in
// kernels before its own (aten/src/ATen/native/cuda/Normalization.cu, batch_norm_cuda_out).
void AddStatistics(const Target& target, const Part& part, PartRun& run) {
  if (!part.kernel.general) return;
  constexpr int kKernels = 2;
  const StreamTime small =
      ExpectedStream(*target.timing, {.bytes = 1, .general = true}, ConditionsOf(target, part, 0));
  run.execution.name = "statistics, then channels";
  KernelOf(part, run, "channels");
  run.execution.stages.push_back({.name = "statistics", .launches = kKernels});
  AddBeside(target, "statistics", kKernels * small.seconds, run);
}

// What pads fills its result before it copies into it: each is an operator of the framework's.
constexpr double kCallsOfFill = 2;

void AddFill(const Target& target, const Part& part, PartRun& run) {
  if (!part.kernel.fills) return;
  const StreamTime fill = ExpectedStream(
      *target.timing,
      {.bytes = part.written, .element_bytes = std::max(Bits(part.type), 8) / 8.0, .general = true},
      ConditionsOf(target, part, 0));
  run.execution.name = "filled, then copied into";
  KernelOf(part, run, "copy");
  run.execution.stages.push_back(
      {.name = "fill", .extra_written = Bytes(RoundToInteger(part.written))});
  run.time->calls = kCallsOfFill;
  AddBeside(target, "fill", fill.seconds, run);
}

}  // namespace

void AddBesideStream(const Target& target, const Part& part, double reread_bytes, bool native,
                     PartRun& run) {
  ReadAgain(part, reread_bytes, run);
  AddCopiesOfPlanes(target, part, run);
  AddSumsAcross(target, part, run);
  if (native) AddStatistics(target, part, run);
  AddFill(target, part, run);
}

}  // namespace dlcost
