#include "estimator/measured/measurement.h"

namespace dlcost {
namespace {

std::optional<double> Sum(const MeasuredKernel& kernel, std::initializer_list<Metric> metrics) {
  std::optional<double> sum;
  for (const Metric metric : metrics) {
    if (const Counter* counter = kernel.Find(metric)) sum = sum.value_or(0) + counter->value;
  }
  return sum;
}

}  // namespace

const Counter* MeasuredKernel::Find(Metric metric) const {
  for (const Counter& counter : counters) {
    if (counter.metric == metric) return &counter;
  }
  return nullptr;
}

std::optional<double> MeasuredKernel::VectorFlops() const {
  return Sum(*this, {Metric::kFlops, Metric::kFlopsF16, Metric::kFlopsF32, Metric::kFlopsF64});
}

std::optional<double> MeasuredKernel::DramBytes() const {
  if (const Counter* total = Find(Metric::kDram)) return total->value;
  if (!Find(Metric::kDramRead) || !Find(Metric::kDramWrite)) return std::nullopt;
  return Sum(*this, {Metric::kDramRead, Metric::kDramWrite});
}

}  // namespace dlcost
