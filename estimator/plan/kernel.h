#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/infer/infer.h"
#include "models/operators/op_cost.h"

namespace dlcost {

// What is launched as one: a set of nodes, an algorithm, and what that executes and moves.
struct Kernel {
  std::string id;                  // "k12": position in execution order
  std::vector<std::size_t> nodes;  // indices into InferredModel::nodes, in execution order
  std::size_t main = 0;            // the node that names the kernel and whose loop nest it runs
  std::string
      algorithm;        // "gemm", "implicit_gemm", "elementwise", ..., "" when nothing is launched
  Work work;            // algorithmic: the sum over the nodes
  Work executed;        // what the algorithm issues; equal to `work` where no model says more
  Bytes bytes_read;     // live-in of device memory
  Bytes bytes_written;  // live-out
  Count launches = 1;   // 0 for views and for what is known before the run
  LoopNest nest;
  bool unknown = false;  // contains a node of which nothing is known: contributes no number
  bool upper_bound = false;

  Bytes bytes() const { return bytes_read + bytes_written; }
};

struct Plan {
  std::vector<Kernel> kernels;         // in execution order
  std::vector<std::size_t> kernel_of;  // per node of InferredModel::nodes: index into kernels
};

enum class Fusion { kNone, kDefault, kIdeal };
std::string_view Name(Fusion fusion);  // "none", "default", "ideal"
std::optional<Fusion> ParseFusion(std::string_view name);

struct PlanOptions {
  Fusion fusion = Fusion::kNone;
};

// Every node belongs to exactly one kernel, and the algorithmic work of the kernels adds up to that
// of the nodes.
Plan MakePlan(const InferredModel& model, const PlanOptions& options);

}  // namespace dlcost
