#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/hardware/roof.h"
#include "estimator/infer/infer.h"
#include "models/algorithms/execution.h"
#include "models/operators/op_cost.h"

namespace dlcost {

// What is launched as one: a set of nodes, an algorithm, and what that executes and moves.
struct Kernel {
  std::string id;                  // "k12": position in execution order
  std::vector<std::size_t> nodes;  // indices into InferredModel::nodes, in execution order
  std::size_t main = 0;            // the node that names the kernel and whose loop nest it runs
  std::string label;               // "conv + batch_normalization + relu"
  // "tiled_gemm", "implicit_gemm", "winograd", "elementwise", ...; "" when nothing is launched.
  std::string algorithm;
  std::string runner_up;  // the algorithm that came second, "" when there was no choice
  Work work;              // algorithmic: the sum over the nodes
  // The least that any kernel with this algorithm issues: Winograd needs fewer multiplications than
  // the mathematics written down, folded nodes need none. For bounds.
  Work least;
  Work executed;        // what the algorithm issues; equal to `work` where no model says more
  Bytes bytes_read;     // live-in of device memory
  Bytes bytes_written;  // live-out
  Bytes bytes_passed;   // part of both: from the kernels before, to the kernels after
  Count launches = 1;   // 0 for views and for what is known before the run
  LoopNest nest;
  // The type that multiply-accumulates run in: of the operands, or the quantized type of a product
  // between DequantizeLinear and QuantizeLinear.
  DType math = DType::kUndefined;
  // Stages, terms, tiles, extra traffic. Null for kernels that only stream data, and without a
  // device.
  std::shared_ptr<const Execution> execution;
  bool unknown = false;      // contains a node of which nothing is known: contributes no number
  bool upper_bound = false;  // contains a node whose counts are upper bounds
  bool assumed = false;      // contains a node whose counts rest on something assumed

  Bytes bytes() const { return bytes_read + bytes_written; }
};

struct Plan {
  std::vector<Kernel> kernels;         // in execution order
  std::vector<std::size_t> kernel_of;  // per node of InferredModel::nodes: index into kernels
};

enum class Fusion { kNone, kDefault, kIdeal };
std::string_view Name(Fusion fusion);  // "none", "default", "ideal"
std::optional<Fusion> ParseFusion(std::string_view name);

enum class AttentionForm { kFlash, kMaterialized };
std::string_view Name(AttentionForm form);  // "flash", "materialized"
std::optional<AttentionForm> ParseAttentionForm(std::string_view name);

struct PlanOptions {
  Fusion fusion = Fusion::kNone;
  AttentionForm attention = AttentionForm::kFlash;
  std::optional<Algorithm> conv;  // empty: as the device's library would choose
  MathMode math = MathMode::kDefault;
  // Chooses algorithms and tiles; without one, executed work is the algorithmic work.
  const Device* device = nullptr;
};

// Every node belongs to exactly one kernel, and the algorithmic work of the kernels adds up to that
// of the nodes.
Plan MakePlan(const InferredModel& model, const PlanOptions& options);

// The same kernels one by one, for those who need them only once: a large model's take as much
// memory as its nodes.
void ForEachKernel(const InferredModel& model, const PlanOptions& options,
                   const std::function<void(Kernel)>& visit);

}  // namespace dlcost
