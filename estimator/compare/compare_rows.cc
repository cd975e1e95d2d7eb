#include "estimator/compare/compare_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/compare/as_run.h"
#include "estimator/compare/compare_totals.h"
#include "estimator/compare/explain.h"
#include "estimator/compare/tally.h"
#include "estimator/roofline/choose.h"

namespace dlcost {
namespace {

std::optional<double> Ratio(std::optional<double> a, double b) {
  return a && b > 0 ? std::optional(*a / b) : std::nullopt;
}

}  // namespace

RowMaker::RowMaker(const Report& report, const std::optional<Device>& device)
    : report_(report), device_(device) {
  for (const NodeRow& node : report.nodes) nodes_.emplace(node.name, &node);
}

CompareRow RowMaker::Row(std::size_t k, const Measured& measured, TraceLevel level,
                         const std::vector<FileLevels>& files) const {
  CompareRow row = Predicted(k, level);
  row.covers = {k};
  row.measured = measured;
  const auto at = [&](TraceLevel above) {
    const auto time = TimeAt(files, above, k);
    return time == row.measured.time ? std::nullopt : time;
  };
  row.layer_time = at(TraceLevel::kLayer);
  row.library_time = at(TraceLevel::kLibrary);
  SetExecution(row, report_.kernels[k]);
  Finish(row);
  return row;
}

CompareRow RowMaker::SharedRow(const Joined::Shared& group, TraceLevel level) const {
  CompareRow row;
  row.time_level = level;
  row.node = fmt::format("({}{} kernels: {})", group.beside ? "beside " : "", group.kernels.size(),
                         group.ops);
  row.op = group.ops;
  row.beside = group.beside;
  row.kernels = group.kernels.size();
  if (!group.beside) row.covers = group.kernels;
  row.measured = group.measured;
  if (device_ && device_->WarmCapacity() > Bytes(0)) row.cache = device_->WarmCapacity();
  if (report_.device && !group.beside) row.bound = row.compute = row.memory = Seconds(0);
  bool outputs = true;
  double out = 0;
  Flops executed_vector;
  for (const std::size_t k : group.kernels) {
    const CompareRow one = Predicted(k, level);
    row.nodes.insert(row.nodes.end(), one.nodes.begin(), one.nodes.end());
    if (group.beside) continue;
    row.algorithmic += one.algorithmic;
    row.predicted_bytes += one.predicted_bytes;
    Sum(row.memory_bytes, one.memory_bytes);
    outputs = outputs && one.outputs;
    out += one.outputs.value_or(0);
    // As its kernels' name tells; one name for all, so only where it is one.
    const KernelRow& kernel = report_.kernels[k];
    if (device_ && kernel.execution) {
      const auto execution = ExecutionAsRun(kernel, group.measured.main, *device_);
      row.executed += execution->flops();
      executed_vector += execution->On(Pipe::kVector).flops();
    } else {
      row.executed += one.executed;
      executed_vector += one.executed;
    }
    if (row.bound) {
      *row.bound += *one.bound;
      *row.compute += *one.compute;
      *row.memory += *one.memory;
    }
    Sum(row.expected, one.expected);
  }
  if (!group.beside) row.executed_vector = executed_vector;
  if (outputs && out > 0) row.outputs = out;
  Finish(row);
  return row;
}

std::optional<UnmatchedNode> RowMaker::Unmatched(std::size_t k) const {
  const KernelRow& kernel = report_.kernels[k];
  if (kernel.launches == Count(0)) return std::nullopt;
  const CompareRow row = Predicted(k, TraceLevel::kKernel);
  const bool product = kernel.sums.macs > Macs(0);
  return UnmatchedNode{
      row.node,
      row.op,
      row.kernel,
      product ? "nothing measured is left for it: not profiled, or the file is of another model"
              : "no kernel of its own: fused into a neighbour, folded away, or not profiled",
      row.algorithmic,
      row.bound};
}

Bytes RowMaker::MemoryOf(const KernelRow& kernel, const Execution* execution) const {
  const std::int64_t repeat = std::max<std::int64_t>(1, kernel.repeat.value());
  Bytes memory(kernel.sums.bytes_written.value() / repeat);
  for (const std::string& name : kernel.nodes) {
    const auto node = nodes_.find(name);
    if (node != nodes_.end()) memory += node->second->weight_bytes;
  }
  if (execution) memory += execution->workspace;
  return memory;
}

CompareRow RowMaker::Predicted(std::size_t k, TraceLevel level) const {
  const KernelRow& kernel = report_.kernels[k];
  CompareRow row;
  row.time_level = level;
  row.node = report_.nodes[kernel.main].name;
  row.nodes = kernel.nodes;
  row.op = kernel.op;
  row.kernel = kernel.id;
  row.planned = kernel.algorithm;
  row.algorithmic = AlgorithmicFlops(kernel);
  row.executed = kernel.executed;
  row.launched = kernel.launches > Count(0);
  row.memory_bytes = MemoryOf(kernel, kernel.execution.get());
  row.predicted_bytes = kernel.sums.bytes();
  if (const auto* reduce = std::get_if<ReduceNest>(&kernel.nest)) {
    row.outputs = (reduce->outer * kernel.repeat).AsDouble();
  } else if (const auto* pointwise = std::get_if<ElementwiseNest>(&kernel.nest)) {
    row.outputs = (pointwise->elements * kernel.repeat).AsDouble();
  }
  if (device_ && device_->WarmCapacity() > Bytes(0)) row.cache = device_->WarmCapacity();
  if (report_.device) {
    row.bound = kernel.sums.bound;
    row.compute = kernel.sums.compute;
    row.memory = kernel.sums.memory;
    row.expected = ExpectedAt(kernel, level);
  }
  return row;
}

void RowMaker::SetExecution(CompareRow& row, const KernelRow& kernel) const {
  if (!device_ || !kernel.execution) return;
  row.execution = ExecutionAsRun(kernel, row.measured.main, *device_);
  row.executed = row.execution->flops();
  row.memory_bytes = MemoryOf(kernel, row.execution.get());
  row.executed_vector = row.execution->On(Pipe::kVector).flops();
  row.stages = StagesOf(*row.execution, row.measured);
}

void RowMaker::Finish(CompareRow& row) const {
  const Measured& m = row.measured;
  row.measured_flops = m.vector_flops;
  if (m.tensor_flops) {
    row.measured_flops = m.vector_flops.value_or(0) + *m.tensor_flops;
  } else if (m.tensor_instructions && device_) {
    if (const int per = LibraryOf(*device_).tensor_flops_per_instruction; per > 0) {
      row.measured.tensor_flops = *m.tensor_instructions * per;
      for (MeasuredPart& part : row.measured.parts) {
        if (part.tensor_instructions) part.tensor_flops = *part.tensor_instructions * per;
      }
      row.measured_flops = m.vector_flops.value_or(0) + *row.measured.tensor_flops;
    }
  }
  row.flops_ratio = Ratio(row.measured_flops, row.algorithmic.AsDouble());
  const bool both_pipes = row.measured.tensor_flops || !row.executed_vector;
  row.executed_ratio =
      Ratio(row.measured_flops, (both_pipes ? row.executed : *row.executed_vector).AsDouble());
  row.bytes_ratio = Ratio(m.dram_bytes, row.predicted_bytes.AsDouble());
  if (m.time && m.time->value() > 0) {
    const double time = m.time->value();
    const auto predicted = row.expected ? row.expected : row.bound;
    if (predicted) row.time_ratio = Ratio(time, predicted->value());
    if (row.compute) row.compute_fraction = row.compute->value() / time;
    if (row.memory) row.memory_fraction = row.memory->value() / time;
  }
  row.why = Explain(row);
}

}  // namespace dlcost
