#include "estimator/compare/tally.h"

#include <algorithm>

#include "estimator/compare/op_family.h"

namespace dlcost {
namespace {

std::optional<double> Times(std::optional<double> value, double factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

std::optional<double> CounterValue(const MeasuredKernel& kernel, Metric metric) {
  const Counter* counter = kernel.Find(metric);
  return counter ? std::optional(counter->value) : std::nullopt;
}

}  // namespace

Tally::Tally(const Report& report) {
  counted_ = {Metric::kFlops, Metric::kFlopsF32};  // narrow types accumulate in fp32
  for (const Work::Entry& entry : report.totals.work.entries()) {
    if (entry.dtype == DType::kFloat16 || entry.dtype == DType::kBfloat16) {
      counted_.insert(Metric::kFlopsF16);
    }
    if (entry.dtype == DType::kFloat64) counted_.insert(Metric::kFlopsF64);
  }
}

std::optional<double> Tally::VectorFlops(const MeasuredKernel& kernel) {
  std::optional<double> sum;
  for (const Counter& counter : kernel.counters) {
    if (counted_.contains(counter.metric)) {
      Sum(sum, std::optional(counter.value));
    } else if ((counter.metric == Metric::kFlopsF16 || counter.metric == Metric::kFlopsF64) &&
               counter.value > 0) {
      foreign_types_ = true;
    }
  }
  return sum;
}

void Tally::Add(Measured& to, const MeasuredKernel& kernel, double launches, bool main) {
  if (std::find(to.names.begin(), to.names.end(), kernel.name) == to.names.end()) {
    to.names.push_back(kernel.name);
  }
  auto part = std::find_if(to.parts.begin(), to.parts.end(),
                           [&](const MeasuredPart& p) { return p.name == kernel.name; });
  if (part == to.parts.end()) {
    to.parts.push_back({.name = kernel.name, .told = ToldBy(kernel)});
    part = to.parts.end() - 1;
  }
  const std::optional<double> flops = Times(VectorFlops(kernel), launches);
  const std::optional<double> bytes = Times(kernel.DramBytes(), launches);
  const std::optional<Seconds> time =
      kernel.duration ? std::optional(*kernel.duration * launches) : std::nullopt;
  part->launches += launches;
  part->main |= main;
  const auto tensor_flops = Times(CounterValue(kernel, Metric::kTensorFlops), launches);
  const auto tensor_instructions =
      Times(CounterValue(kernel, Metric::kTensorInstructions), launches);
  Sum(part->vector_flops, flops);
  Sum(part->tensor_flops, tensor_flops);
  Sum(part->tensor_instructions, tensor_instructions);
  Sum(part->dram_bytes, bytes);
  Sum(part->time, time);
  if (kernel.line > 0) part->lines.push_back(kernel.line);
  to.tensor |= part->told.tensor;
  to.launches += launches;
  Sum(to.vector_flops, flops);
  Sum(to.tensor_flops, tensor_flops);
  Sum(to.tensor_instructions, tensor_instructions);
  Sum(to.dram_bytes, bytes);
  Sum(to.allocated, Times(CounterValue(kernel, Metric::kAllocated), launches));
  Sum(to.time, time);
  if (kernel.host) Sum(to.host, std::optional(*kernel.host * launches));
  if (const auto occupancy = CounterValue(kernel, Metric::kOccupancy)) {
    const auto add = [&](const std::optional<double>& seconds) {
      to.occupancy.Add(*occupancy, launches, seconds);
      part->occupancy.Add(*occupancy, launches, seconds);
    };
    kernel.duration ? add(kernel.duration->value() * launches) : add(std::nullopt);
  }
}

UnmatchedKernel Tally::Unmatched(const MeasuredKernel& kernel, double launches, std::string why) {
  return {kernel.name,
          std::move(why),
          launches,
          kernel.duration ? std::optional(*kernel.duration * launches) : std::nullopt,
          Times(VectorFlops(kernel), launches),
          Times(kernel.DramBytes(), launches),
          ToldBy(kernel).family};
}

KernelName ToldBy(const MeasuredKernel& kernel) {
  const bool label = kernel.kind == MeasuredKind::kOp || kernel.name == kernel.op;
  KernelName told;
  if (!label) {
    told = ReadKernelName(kernel.name);
    // A primitive of a library says itself what it is.
    const bool primitive = kernel.op.empty() && !kernel.op_type.empty();
    const KernelFamily family = primitive ? FamilyOfCall(kernel.op_type) : told.family;
    if (family != KernelFamily::kUnknown) told.family = family;
    return told;
  }
  told.family = FamilyOfLabel(kernel.name);
  if (told.family == KernelFamily::kUnknown) told.family = FamilyOfCall(kernel.op_type);
  return told;
}

std::string WhyUnmatched(const MeasuredKernel& kernel, KernelFamily family) {
  if (kernel.kind == MeasuredKind::kCopy) return "copy or fill of memory: no operator's work";
  switch (family) {
    case KernelFamily::kDropout:
      return "dropout: the model ran in training mode";
    case KernelFamily::kRandom:
      return "random numbers: no operator makes them here";
    case KernelFamily::kFill:
      return "fills memory: no operator's work";
    case KernelFamily::kCommunication:
      return "communication between devices: no operator's work";
    case KernelFamily::kLayout:
      return "layout change that the runtime inserted";
    case KernelFamily::kUnknown:
      return "its name tells nothing and nothing is left for its place";
    default:
      return "the model has no " + std::string(Name(family)) + " operator left for its place";
  }
}

}  // namespace dlcost
