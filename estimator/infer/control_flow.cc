#include "estimator/infer/control_flow.h"

#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

// Nodes of copied graphs: far above any model, and still a second of work.
constexpr std::size_t kMaxVisits = 1'000'000;

// How costly a stretch of nodes is: by operations, then by bytes.
OpenBranch::Cost CostOf(const InferredModel& model, std::size_t first, std::size_t last) {
  OpenBranch::Cost sum;
  for (std::size_t n = first; n < last; ++n) {
    const OpCost& cost = model.nodes[n].cost;
    sum.macs += cost.work.macs();
    sum.flops += CountFlops(cost.work, Conventions().front());
    sum.bytes += cost.BytesRead() + cost.BytesWritten();
  }
  return sum;
}

// "the condition is computed at run time; the then branch, which costs more, is counted".
std::string NoteOf(const OpenBranch& branch) {
  const char* counted = branch.then_counted ? "then" : "else";
  const char* other = branch.then_counted ? "else" : "then";
  std::string note = fmt::format("the condition is computed at run time; the {} branch", counted);
  if (!branch.other) {
    return note + fmt::format(" is counted: the {} branch cannot run with these shapes", other);
  }
  if (branch.counted == *branch.other)
    return note + ", which costs as much as the other, is counted";
  return note + ", which costs more, is counted";
}

}  // namespace

Graph& InferenceDriver::Instantiate(const Graph& original, const Graph& outer, const Node& owner) {
  visits_ += original.nodes.size() + 1;
  if (visits_ > kMaxVisits) {
    throw Unresolved("following its control flow takes more than a million steps");
  }
  Subgraph& subgraph = result_.subgraphs.emplace_back();
  subgraph = {std::make_unique<Graph>(original), &original, &outer, &owner, /*taken=*/true};
  Graph& graph = *subgraph.graph;
  for (const Capture& capture : graph.captures) {
    const Tensor& from = outer.tensors[static_cast<std::size_t>(capture.outer)];
    Tensor& to = graph.tensors[static_cast<std::size_t>(capture.inner)];
    to.type = from.type;
    to.value = from.value;
    to.role = from.role;
    to.constant = from.constant;
    to.foldable = from.foldable;
    to.upper_bound = from.upper_bound;
  }
  return graph;
}

void InferenceDriver::Rollback(Mark mark) {
  result_.nodes.erase(result_.nodes.begin() + static_cast<std::ptrdiff_t>(mark.nodes),
                      result_.nodes.end());
  result_.subgraphs.resize(mark.subgraphs);
  result_.last_iterations.erase(
      result_.last_iterations.begin() + static_cast<std::ptrdiff_t>(mark.last_iterations),
      result_.last_iterations.end());
}

bool InferenceDriver::CanFollow(Count nodes) const {
  return nodes * 2 <= Count(static_cast<std::int64_t>(kMaxVisits - visits_));
}

bool ControlNode::HasInput(std::size_t i) {
  return i < node().inputs.size() && node().inputs[i] != kNoTensor;
}

Known ControlNode::Input(std::size_t i) {
  if (!HasInput(i)) return {};
  const Tensor& tensor = graph_.tensors[static_cast<std::size_t>(node().inputs[i])];
  return {tensor.type, tensor.value, tensor.foldable, tensor.upper_bound};
}

const std::string& ControlNode::InputName(std::size_t i) {
  return graph_.tensors[static_cast<std::size_t>(node().inputs[i])].name;
}

void ControlNode::SetOutput(std::size_t i, const Known& known) {
  if (i >= node().outputs.size() || node().outputs[i] == kNoTensor) return;
  Tensor& tensor = graph_.tensors[static_cast<std::size_t>(node().outputs[i])];
  tensor.type = known.type;
  tensor.value = known.value;
  tensor.foldable = known.foldable;
  tensor.upper_bound = known.upper_bound;
}

void ControlNode::BindInput(std::size_t i, std::int64_t value) {
  Tensor& tensor = graph_.tensors[static_cast<std::size_t>(node().inputs[i])];
  tensor.value = std::make_shared<const Value>(std::vector<std::int64_t>{value});
}

OpContext ControlNode::Context() {
  return OpContext(graph_, node(), SinceVersion(*counted().def, node().opset));
}

bool ControlNode::HasBody(const std::string& name) {
  const AttributeValue* value = node().FindAttribute(name);
  return value != nullptr && std::get_if<std::shared_ptr<Graph>>(value) != nullptr;
}

const Graph& ControlNode::Body(const std::string& name) {
  const AttributeValue* value = node().FindAttribute(name);
  const auto* graph = value == nullptr ? nullptr : std::get_if<std::shared_ptr<Graph>>(value);
  if (graph == nullptr || *graph == nullptr) throw Error("the graph '{}' is missing", name);
  return **graph;
}

std::vector<Known> ControlNode::Run(const Graph& body, const std::vector<Known>& inputs,
                                    Count times, const std::string& label) {
  if (inputs.size() != body.inputs.size()) {
    throw Error("the inner graph has {} inputs, the node gives it {}", body.inputs.size(),
                inputs.size());
  }
  Graph& graph = driver_.Instantiate(body, graph_, node());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensor& tensor = graph.tensors[static_cast<std::size_t>(graph.inputs[i])];
    tensor.type = inputs[i].type;
    if (tensor.type.dtype == DType::kUndefined && tensor.declared) {
      tensor.type.dtype = tensor.declared->dtype;
    }
    tensor.value = inputs[i].value;
    tensor.foldable = inputs[i].foldable;
    tensor.upper_bound = inputs[i].upper_bound;
  }
  driver_.Run(graph, repeat() * times, name() + "/" + label);
  std::vector<Known> outputs;
  for (const TensorId id : graph.outputs) {
    const Tensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
    outputs.push_back({tensor.type, tensor.value, tensor.foldable, tensor.upper_bound});
  }
  return outputs;
}

void ControlNode::Repeat(InferenceDriver::Mark mark, Count times) {
  std::vector<CountedNode>& nodes = driver_.result().nodes;
  for (std::size_t n = mark.nodes; n < nodes.size(); ++n) {
    CountedNode& node = nodes[n];
    node.repeat *= times;
    node.cost.work.Scale(times);
    node.cost.valid_macs = node.cost.valid_macs * times;
    for (Access& access : node.cost.accesses) access.bytes = access.bytes * times;
  }
}

bool ControlNode::Resolved(InferenceDriver::Mark mark) {
  const std::vector<CountedNode>& nodes = driver_.result().nodes;
  return std::none_of(nodes.begin() + static_cast<std::ptrdiff_t>(mark.nodes), nodes.end(),
                      [](const CountedNode& n) { return n.status == NodeStatus::kUnknown; });
}

void ControlNode::MarkUpperBound(InferenceDriver::Mark mark, const std::string& note) {
  std::vector<CountedNode>& nodes = driver_.result().nodes;
  for (std::size_t n = mark.nodes; n < nodes.size(); ++n) nodes[n].upper_bound = true;
  counted().upper_bound = true;
  counted().cost.note = note;
}

bool SameType(const TensorType& a, const TensorType& b) {
  if (a.kind != b.kind || a.dtype != b.dtype || a.shape != b.shape) return false;
  if (a.elements.has_value() != b.elements.has_value()) return false;
  return !a.elements || std::equal(a.elements->begin(), a.elements->end(), b.elements->begin(),
                                   b.elements->end(), SameType);
}

Known Stacked(const Known& element, Count count, std::int64_t axis) {
  Known stacked = TypeOnly(element);
  if (!element.type.shape) return stacked;
  std::vector<std::int64_t> dims = element.type.shape->dims();
  const std::size_t at = NormalizeAxis(axis, dims.size(), /*for_insertion=*/true);
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), count.value());
  stacked.type.shape = Shape(std::move(dims));
  return stacked;
}

// The branch that runs; where only the run can tell, the one that was chosen or the costlier one.
void RunIf(ControlNode& control) {
  const auto run = [&](bool which) {
    return control.Run(control.Body(which ? "then_branch" : "else_branch"), {}, 1,
                       which ? "then/" : "else/");
  };
  const auto adopt = [&](const std::vector<Known>& outputs, bool certain) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      control.SetOutput(i, certain ? outputs[i] : TypeOnly(outputs[i]));
    }
  };
  const ValuePtr condition = control.Input(0).value;
  if (condition != nullptr && condition->size() == 1) {
    if (!control.Input(0).upper_bound) return adopt(run(condition->Real(0) != 0), true);
    // Made of an upper bound on a size: true of that bound, and perhaps of nothing smaller.
    const std::optional<bool> chosen = control.driver().Branch(control.name());
    const InferenceDriver::Mark mark = control.driver().Here();
    adopt(run(chosen.value_or(condition->Real(0) != 0)), true);
    if (!chosen) {
      control.MarkUpperBound(mark, "the condition is taken from an upper bound on a size");
    }
    return;
  }
  if (const std::optional<bool> chosen = control.driver().Branch(control.name())) {
    return adopt(run(*chosen), false);
  }
  InferenceDriver& driver = control.driver();
  std::vector<CountedNode>& nodes = driver.result().nodes;
  const std::size_t first = nodes.size();
  std::optional<std::vector<Known>> taken, other;
  std::string failure;
  // A branch that contradicts the shapes at hand cannot be the one that runs.
  const auto attempt = [&](bool which) -> std::optional<std::vector<Known>> {
    const InferenceDriver::Mark mark = driver.Here();
    try {
      return run(which);
    } catch (const Error& error) {
      failure = error.what();
      driver.Rollback(mark);
      return std::nullopt;
    }
  };
  std::deque<Subgraph>& subgraphs = driver.result().subgraphs;
  const std::size_t first_subgraph = subgraphs.size();
  taken = attempt(true);
  const std::size_t middle = nodes.size(), middle_subgraph = subgraphs.size();
  other = attempt(false);
  if (!taken && !other) throw Error("neither branch can run: {}", failure);
  if (taken && other && taken->size() != other->size()) {
    throw Error("one branch has {} outputs, the other {}", taken->size(), other->size());
  }
  const OpenBranch::Cost then_cost = CostOf(driver.result(), first, middle);
  const OpenBranch::Cost else_cost = CostOf(driver.result(), middle, nodes.size());
  const bool then_branch = taken && (!other || then_cost >= else_cost);
  const auto at = [&](std::size_t n) { return nodes.begin() + static_cast<std::ptrdiff_t>(n); };
  if (then_branch) {
    nodes.erase(at(middle), nodes.end());
  } else {
    nodes.erase(at(first), at(middle));
  }
  if (taken && other) subgraphs[then_branch ? middle_subgraph : first_subgraph].taken = false;
  OpenBranch branch{.node = control.name(),
                    .then_counted = then_branch,
                    .counted = then_branch ? then_cost : else_cost,
                    .repeat = control.repeat()};
  if (taken && other) {
    branch.other = then_branch ? else_cost : then_cost;
  } else {
    branch.why = failure;
  }
  // Only one of two branches that can run is a bound on both; what one hands out may be larger or
  // smaller than what the other would.
  std::vector<Known> outputs = then_branch ? *taken : *other;
  for (std::size_t i = 0; taken && other && i < outputs.size(); ++i) {
    outputs[i].upper_bound |= !SameType((*taken)[i].type, (*other)[i].type);
  }
  adopt(outputs, false);
  if (branch.other) {
    control.MarkUpperBound({first, 0, 0}, NoteOf(branch));
  } else {
    control.counted().cost.note = NoteOf(branch);
  }
  driver.Note(std::move(branch));
}

void RunControlFlow(InferenceDriver& driver, Graph& graph, CountedNode counted) {
  const ControlFlow kind = counted.def->control;
  counted.status = counted.cost.status = NodeStatus::kCounted;
  driver.result().nodes.push_back(std::move(counted));
  ControlNode control(driver, graph, driver.result().nodes.size() - 1);
  const InferenceDriver::Mark mark = driver.Here();
  try {
    switch (kind) {
      case ControlFlow::kIf:
        return RunIf(control);
      case ControlFlow::kLoop:
        return RunLoop(control);
      case ControlFlow::kScan:
        return RunScan(control);
      case ControlFlow::kGeneration:
        return RunGeneration(control);
      default:
        return RunSequenceMap(control);
    }
  } catch (const Unresolved& unresolved) {
    driver.Rollback(mark);
    control.counted().status = control.counted().cost.status = NodeStatus::kUnknown;
    control.counted().why = unresolved.what();
    AdoptDeclaredTypes(graph, control.node(), driver.result().dims);
  }
}

}  // namespace dlcost
