#include "estimator/plan/kernel.h"

namespace dlcost {
namespace {

struct NameOfNest {
  std::string operator()(const std::monostate&) const { return "other"; }
  std::string operator()(const GemmNest&) const { return "gemm"; }
  std::string operator()(const ConvNest&) const { return "direct"; }
  std::string operator()(const AttentionNest&) const { return "attention"; }
  std::string operator()(const RecurrentNest&) const { return "recurrent"; }
  std::string operator()(const ReduceNest&) const { return "reduction"; }
  std::string operator()(const ElementwiseNest&) const { return "elementwise"; }
};

Kernel KernelOfNode(const CountedNode& counted, std::size_t index) {
  Kernel kernel;
  kernel.id = fmt::format("k{}", index);
  kernel.nodes = {index};
  kernel.main = index;
  kernel.unknown = counted.status == NodeStatus::kUnknown;
  kernel.upper_bound = counted.upper_bound;
  const bool runs =
      counted.status == NodeStatus::kCounted || counted.status == NodeStatus::kBounded;
  kernel.launches = runs ? counted.repeat : Count(0);
  if (!runs) return kernel;
  kernel.nest = counted.cost.nest;
  kernel.algorithm = std::visit(NameOfNest{}, kernel.nest);
  kernel.work = kernel.least = kernel.executed = counted.cost.work;
  kernel.bytes_read = counted.cost.BytesRead();
  kernel.bytes_written = counted.cost.BytesWritten();
  return kernel;
}

}  // namespace

Plan MakePlan(const InferredModel& model, const PlanOptions&) {
  Plan plan;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    plan.kernels.push_back(KernelOfNode(model.nodes[n], n));
    plan.kernel_of.push_back(n);
  }
  return plan;
}

}  // namespace dlcost
