#include "estimator/infer/driver.h"

#include <algorithm>
#include <unordered_map>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/infer/control_flow.h"
#include "estimator/infer/custom_ops.h"
#include "estimator/infer/stored_size.h"
#include "models/operators/common.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

template <typename Predicate>
bool AllInputs(const Graph& graph, const Node& node, Predicate predicate) {
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId id) {
    return id == kNoTensor || predicate(graph.tensors[static_cast<std::size_t>(id)]);
  });
}

template <typename Visit>
void ForEachOutput(Graph& graph, const Node& node, Visit visit) {
  for (const TensorId id : node.outputs) {
    if (id != kNoTensor) visit(graph.tensors[static_cast<std::size_t>(id)]);
  }
}

std::string WhyUndefined(const Node& node) {
  if (!node.domain.empty()) {
    return "no definition of operator " + Printable(node.domain) + "::" + Printable(node.op);
  }
  return "no definition of operator " + Printable(node.op) +
         DidYouMean(node.op, OperatorNames(node.domain));
}

// Marks what is known before the run (see Tensor::constant and Tensor::foldable). Behind the
// forward pass of a training step nothing is: weights change from step to step.
void PropagateConstness(Graph& graph, const Node& node, bool random) {
  random |= node.phase != Phase::kForward;
  const bool constant =
      !random && AllInputs(graph, node, [](const Tensor& t) { return t.constant; });
  const bool foldable =
      !random && AllInputs(graph, node, [](const Tensor& t) { return t.foldable; });
  ForEachOutput(graph, node, [&](Tensor& output) {
    output.constant = constant;
    // A value that inference found is known before the run whatever it was computed from: Shape of
    // an activation.
    output.foldable = foldable || output.value != nullptr;
    if (constant && output.role == Role::kActivation) output.role = Role::kWeight;
  });
}

// Whether the outputs are small enough to be worth a value.
bool ValuesFit(const Graph& graph, const Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) {
    if (id == kNoTensor) return true;
    const auto& shape = graph.tensors[static_cast<std::size_t>(id)].type.shape;
    return !shape || shape->Elements() <= Count(kMaxValueElements);
  });
}

// Whether the output is as large as the first input, whatever the others are: what is written into
// a tensor may be an upper bound where the tensor is none.
bool KeepsItsFirstInput(const Node& node) {
  if (!node.domain.empty() || node.inputs.empty() || node.inputs[0] == kNoTensor) return false;
  return node.op == "Scatter" || node.op == "ScatterElements" || node.op == "ScatterND" ||
         node.op == "TensorScatter";
}

bool Fits(const std::vector<std::int64_t>& sizes, const Shape& bound) {
  return std::equal(sizes.begin(), sizes.end(), bound.begin(), bound.end(),
                    [](std::int64_t size, std::int64_t most) { return size <= most; });
}

// What a node reads through several inputs is one operand, and is read once: x * x.
void ReadEachOnce(const Node& node, std::vector<Access>& accesses) {
  std::vector<TensorId> inputs = node.inputs;
  std::sort(inputs.begin(), inputs.end());
  if (std::adjacent_find(inputs.begin(), inputs.end()) == inputs.end()) return;
  std::unordered_map<TensorId, Access*> most;
  for (Access& access : accesses) {
    if (access.is_output || access.operand < 0) continue;
    const auto i = static_cast<std::size_t>(access.operand);
    if (i >= node.inputs.size() || node.inputs[i] == kNoTensor) continue;
    const auto [known, first] = most.try_emplace(node.inputs[i], &access);
    if (first) continue;
    if (known->second->bytes < access.bytes) std::swap(known->second->bytes, access.bytes);
    access.bytes = Bytes(0);
  }
}

// Text is compared, converted and moved; nothing else is done with it, whatever a model says. What
// an operator of the user's own does is what its file says.
void RefuseArithmeticOnText(const Work& work) {
  for (const Work::Entry& entry : work.entries()) {
    if (entry.dtype != DType::kString) continue;
    for (int i = 0; i < kOpClassCount; ++i) {
      const auto op_class = static_cast<OpClass>(i);
      if (op_class == OpClass::kCompare || op_class == OpClass::kConvert) continue;
      if (entry.counts[static_cast<std::size_t>(i)] == Count(0)) continue;
      throw Error("it computes with numbers, and an input is of type string");
    }
  }
}

}  // namespace

void AdoptDeclaredTypes(Graph& graph, const Node& node, const BoundDims& dims) {
  ForEachOutput(graph, node, [&](Tensor& tensor) {
    if (!tensor.declared) return;
    if (tensor.type.dtype == DType::kUndefined) {
      tensor.type.dtype = tensor.declared->dtype;
      tensor.type.kind = tensor.declared->kind;
    }
    // A declared size is better than an upper bound of our own.
    if ((tensor.type.shape && !tensor.upper_bound) || !tensor.declared->dims) return;
    std::vector<std::int64_t> sizes;
    for (const Dim& dim : *tensor.declared->dims) {
      if (dim.size >= 0) {
        sizes.push_back(dim.size);
        continue;
      }
      const auto bound = dims.symbols.find(dim.symbol);
      if (dim.symbol.empty() || bound == dims.symbols.end()) return;
      sizes.push_back(bound->second);
    }
    if (tensor.upper_bound && !Fits(sizes, *tensor.type.shape)) return;
    tensor.type.shape = Shape(std::move(sizes));
    tensor.upper_bound = false;
  });
}

void InferenceDriver::Run(Graph& graph, Count repeat, const std::string& prefix) {
  for (const std::int32_t index : TopologicalOrder(graph)) {
    const Node& node = graph.nodes[static_cast<std::size_t>(index)];
    try {
      RunNode(graph, node, repeat, prefix);
    } catch (const Error& error) {
      const bool placed = std::string_view(error.what()).substr(0, 6) == "node '";
      if (placed) throw;  // the innermost node's name is enough
      const bool unlike = dynamic_cast<const BroadcastError*>(&error) != nullptr;
      throw Error(error.what() + (unlike ? StoredSizeHint(graph, node, result_.dims) : ""))
          .At("node '" + Printable(prefix + node.name) + "' (" + Printable(node.op) + ")");
    }
  }
}

const CustomOperator* InferenceDriver::FindCustom(const Node& node) const {
  return options_.custom ? options_.custom->Find(node.domain, node.op) : nullptr;
}

void InferenceDriver::RunNode(Graph& graph, const Node& node, Count repeat,
                              const std::string& prefix) {
  ++steps_;
  CountedNode counted;
  counted.node = &node;
  counted.graph = &graph;
  counted.name = prefix + node.name;
  counted.repeat = repeat;
  const CustomOperator* custom = FindCustom(node);
  counted.def = custom != nullptr ? custom->def : FindOperator(node.domain, node.op);
  if (counted.def == nullptr) {
    counted.why = WhyUndefined(node);
    AdoptDeclaredTypes(graph, node, result_.dims);
    run_values_.Apply(graph, node, counted.name, prefix);
    result_.nodes.push_back(std::move(counted));
    return;
  }
  if (counted.def->control != ControlFlow::kNone) {
    const std::string name = counted.name;
    RunControlFlow(*this, graph, std::move(counted));
    run_values_.Apply(graph, node, name, prefix);
    return;
  }
  OpContext ctx(graph, node, SinceVersion(*counted.def, node.opset));
  bool inferred = true;
  try {
    custom != nullptr ? custom->Infer(ctx) : counted.def->infer(ctx);
  } catch (const Unresolved& unresolved) {
    counted.why = unresolved.what();
    inferred = false;
  } catch (const Error& error) {
    // Sizes that are upper bounds need not fit each other where the true ones do.
    if (AllInputs(graph, node, [](const Tensor& t) { return !t.upper_bound; })) throw;
    counted.why = "sizes depend on data, and their upper bounds do not fit: ";
    counted.why += error.what();
    inferred = false;
  }
  AdoptDeclaredTypes(graph, node, result_.dims);
  if (inferred && counted.def->values != nullptr && ValuesFit(graph, node)) {
    try {
      counted.def->values(ctx);
    } catch (const Unresolved&) {
      // The value stays unknown; whoever needs it will say so.
    }
  }
  PropagateConstness(graph, node, counted.def->random);
  run_values_.Apply(graph, node, counted.name, prefix);
  CountNode(graph, counted);
  run_values_.Settle(graph, node);
  result_.nodes.push_back(std::move(counted));
}

Macs InferenceDriver::FoldedMacs(Graph& graph, const CountedNode& counted) const {
  // Small values are shape arithmetic, which has no products.
  const bool small =
      std::all_of(counted.node->outputs.begin(), counted.node->outputs.end(), [&](TensorId id) {
        return id == kNoTensor || graph.tensors[static_cast<std::size_t>(id)].value != nullptr;
      });
  if (small) return {};
  try {
    const OpContext ctx(graph, *counted.node, SinceVersion(*counted.def, counted.node->opset));
    const CustomOperator* custom = FindCustom(*counted.node);
    const OpCost cost = custom != nullptr ? custom->Cost(ctx) : counted.def->cost(ctx);
    return cost.work.macs() * counted.repeat;
  } catch (const Unresolved&) {
    return {};
  } catch (const Error&) {
    return {};  // what does not run cannot make a model wrong
  }
}

bool InferenceDriver::RunsEachTime(Graph& graph, const Node& node) const {
  if (options_.trains) return true;
  const bool constant = AllInputs(graph, node, [](const Tensor& t) { return t.constant; });
  return !constant && (options_.open || !result_.dims.symbols.empty());
}

void InferenceDriver::CountNode(Graph& graph, CountedNode& counted) {
  const Node& node = *counted.node;
  counted.upper_bound = !AllInputs(graph, node, [](const Tensor& t) { return !t.upper_bound; });
  bool folded = true;
  const bool keeps = KeepsItsFirstInput(node) &&
                     !graph.tensors[static_cast<std::size_t>(node.inputs[0])].upper_bound;
  ForEachOutput(graph, node, [&](Tensor& output) {
    folded &= output.foldable;
    output.upper_bound |= counted.upper_bound && !keeps;
    counted.upper_bound |= output.upper_bound;
  });
  OpContext ctx(graph, node, SinceVersion(*counted.def, node.opset));
  if (folded) counted.folded_macs = FoldedMacs(graph, counted);
  if (folded && counted.folded_macs > Macs(0) && RunsEachTime(graph, node)) {
    counted.folded_macs = Macs(0);
    folded = false;
    ForEachOutput(graph, node, [](Tensor& output) {
      output.constant = output.foldable = false;
      if (output.role == Role::kWeight) output.role = Role::kActivation;
    });
  }
  if (folded) {
    counted.cost = CostMetadata(ctx);
    counted.status = NodeStatus::kMetadata;
    counted.why.clear();
    return;
  }
  try {
    const CustomOperator* custom = FindCustom(node);
    counted.cost = custom != nullptr ? custom->Cost(ctx) : counted.def->cost(ctx);
    if (custom == nullptr) RefuseArithmeticOnText(counted.cost.work);
    ReadEachOnce(node, counted.cost.accesses);
    counted.status = counted.cost.status;
    // Declared or bound shapes were enough.
    if (counted.status != NodeStatus::kBounded) counted.why.clear();
    counted.cost.work.Scale(counted.repeat);
    recent_work_.Share(counted.cost.work);
    counted.cost.valid_macs = counted.cost.valid_macs * counted.repeat;
    for (Access& access : counted.cost.accesses) access.bytes = access.bytes * counted.repeat;
  } catch (const Unresolved& unresolved) {
    if (counted.why.empty()) counted.why = unresolved.what();
    counted.status = NodeStatus::kUnknown;
    counted.cost = OpCost{};
    counted.cost.status = NodeStatus::kUnknown;
  } catch (const Error&) {
    // The bounds that inference found not to fit.
    if (!counted.upper_bound || counted.why.empty()) throw;
    counted.status = NodeStatus::kUnknown;
    counted.cost = OpCost{};
    counted.cost.status = NodeStatus::kUnknown;
  }
}

}  // namespace dlcost
