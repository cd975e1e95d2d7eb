#include "estimator/training/bodies.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "estimator/core/error.h"
#include "estimator/infer/edit.h"
#include "models/gradients/writer.h"
#include "models/operators/op_context.h"

namespace dlcost {
namespace {

bool SameTypes(const Graph& a, const Graph& b) {
  return std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                    [](const Tensor& x, const Tensor& y) {
                      return x.type.kind == y.type.kind && x.type.dtype == y.type.dtype &&
                             x.type.shape == y.type.shape;
                    });
}

void ForgetValue(Tensor& tensor) {
  tensor.value = nullptr;
  tensor.constant = tensor.foldable = false;
  if (tensor.role == Role::kWeight) tensor.role = Role::kActivation;
}

// Where a graph ran several times, what one of them knew of its inputs need not hold in another.
void ForgetValues(Graph& graph) {
  std::vector<bool> varies(graph.tensors.size(), false);
  const auto forget = [&](TensorId id) {
    varies[Index(id)] = true;
    ForgetValue(graph.tensors[Index(id)]);
  };
  for (const TensorId id : graph.inputs) forget(id);
  for (const Node& node : graph.nodes) {
    bool any = false;
    ForEachRead(node, [&](TensorId id) { any |= varies[Index(id)]; });
    if (!any) continue;
    for (const TensorId id : node.outputs) {
      if (id != kNoTensor) forget(id);
    }
  }
}

class Preparer {
 public:
  explicit Preparer(const InferredModel& forward) {
    for (const Subgraph& subgraph : forward.subgraphs) {
      runs_[subgraph.original].push_back(subgraph.graph.get());
    }
  }

  void Prepare(Graph& graph, const std::string& prefix) {
    for (Node& node : graph.nodes) {
      if (node.op != "If" || !node.domain.empty()) {
        ForEachBody(node, [&](std::shared_ptr<Graph>& body) { Type(body, prefix + node.name); });
      }
    }
    TakeBranches(graph, prefix);
    std::unordered_set<std::string> names;
    for (const Tensor& tensor : graph.tensors) names.insert(tensor.name);
    for (Node& node : graph.nodes) {
      ForEachBody(node, [&](std::shared_ptr<Graph>& body) {
        if (typed_.count(body.get()) != 0) StoreOutside(*body, graph, names);
      });
    }
  }

  std::set<std::string> replaced;

 private:
  // The graph as it ran; it stays as the file has it where it did not run, or with other types each
  // time.
  void Type(std::shared_ptr<Graph>& body, const std::string& owner) {
    const auto found = runs_.find(body.get());
    if (found == runs_.end()) return;
    const std::vector<const Graph*>& runs = found->second;
    const bool alike = std::all_of(runs.begin(), runs.end(),
                                   [&](const Graph* run) { return SameTypes(*run, *runs[0]); });
    if (!alike) return;
    body = std::make_shared<Graph>(*runs[0]);
    SortNodes(*body);
    if (runs.size() > 1) ForgetValues(*body);
    typed_.insert(body.get());
    Prepare(*body, owner + "/");
  }

  bool Ran(const std::shared_ptr<Graph>& body) const { return runs_.count(body.get()) != 0; }

  // Where one branch of an If alone could run, its nodes take the place of the node.
  void TakeBranches(Graph& graph, const std::string& prefix) {
    const bool any = std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
      return node.op == "If" && node.domain.empty();
    });
    if (!any) return;
    std::vector<Node> nodes = std::move(graph.nodes);
    graph.nodes.clear();
    for (Node& node : nodes) {
      std::vector<std::shared_ptr<Graph>*> ran;
      std::vector<const char*> labels;
      if (node.op == "If" && node.domain.empty()) {
        for (Attribute& attribute : node.attributes) {
          auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute.value);
          if (body == nullptr || !Ran(*body)) continue;
          ran.push_back(body);
          labels.push_back(attribute.name == "then_branch" ? "/then" : "/else");
        }
      }
      const std::string name = prefix + node.name;
      for (std::size_t i = 0; i < ran.size(); ++i) Type(*ran[i], name + labels[i]);
      if (ran.size() == 1 && typed_.count(ran[0]->get()) != 0 &&
          (*ran[0])->outputs.size() >= node.outputs.size()) {
        replaced.insert(name);
        Inline(graph, node, **ran[0], node.name + labels[0]);
      } else {
        graph.nodes.push_back(std::move(node));
      }
    }
  }

  void Inline(Graph& graph, const Node& owner, const Graph& branch, const std::string& name) {
    std::vector<TensorId> outer(branch.tensors.size(), kNoTensor);
    for (const Capture& capture : branch.captures) outer[Index(capture.inner)] = capture.outer;
    const auto map = [&](TensorId id) {
      if (id == kNoTensor) return kNoTensor;
      TensorId& known = outer[Index(id)];
      if (known != kNoTensor) return known;
      known = static_cast<TensorId>(graph.tensors.size());
      graph.tensors.push_back(branch.tensors[Index(id)]);
      graph.tensors.back().name = name + "/" + branch.tensors[Index(id)].name;
      return known;
    };
    for (const Node& inner : branch.nodes) {
      Node node = inner;
      node.name = name + "/" + inner.name;
      for (TensorId& id : node.inputs) id = map(id);
      for (TensorId& id : node.outputs) id = map(id);
      ForEachBody(node, [&](std::shared_ptr<Graph>& body) {
        body = std::make_shared<Graph>(*body);
        for (Capture& capture : body->captures) capture.outer = map(capture.outer);
      });
      graph.nodes.push_back(std::move(node));
    }
    for (std::size_t i = 0; i < owner.outputs.size(); ++i) {
      if (owner.outputs[i] == kNoTensor) continue;
      Node view;
      view.name = name + "/" + graph.tensors[Index(owner.outputs[i])].name;
      view.op = "Identity";
      view.scope = owner.scope;
      view.opset = owner.opset;
      view.inputs = {map(branch.outputs[i])};
      view.outputs = {owner.outputs[i]};
      graph.nodes.push_back(std::move(view));
    }
  }

  // Stored tensors that may be parameters, and those whose numbers were not read.
  static void StoreOutside(Graph& body, Graph& graph, std::unordered_set<std::string>& names) {
    for (std::size_t t = 0; t < body.tensors.size(); ++t) {
      Tensor& inner = body.tensors[t];
      const bool reals =
          IsFloat(inner.type.dtype) && inner.type.shape && inner.type.shape->rank() > 0;
      if (!inner.is_initializer || (inner.value != nullptr && !reals)) continue;
      const auto outer = static_cast<TensorId>(graph.tensors.size());
      Tensor stored = inner;
      while (!names.insert(stored.name).second) stored.name += "'";
      graph.tensors.push_back(std::move(stored));
      inner.is_initializer = false;
      body.captures.push_back({outer, static_cast<TensorId>(t)});
    }
  }

  std::unordered_map<const Graph*, std::vector<const Graph*>> runs_;
  std::unordered_set<const Graph*> typed_;
};

}  // namespace

std::set<std::string> PrepareBodies(Graph& graph, const InferredModel& forward) {
  if (forward.subgraphs.empty()) return {};
  Preparer preparer(forward);
  preparer.Prepare(graph, "");
  return std::move(preparer.replaced);
}

Attribute* FindOwn(Node& node, std::string_view name) {
  for (Attribute& attribute : node.attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

bool IsReal(const Graph& graph, TensorId id) {
  return IsFloat(graph.tensors[Index(id)].type.dtype);
}

const Graph& TypedBody(Node& node, std::string_view name) {
  const Attribute* attribute = FindOwn(node, name);
  const auto* body =
      attribute == nullptr ? nullptr : std::get_if<std::shared_ptr<Graph>>(&attribute->value);
  if (body == nullptr || *body == nullptr) throw Unresolved("it has no graph to go back through");
  for (const TensorId id : (*body)->outputs) {
    const TensorType& type = (*body)->tensors[Index(id)].type;
    if (type.dtype != DType::kUndefined && type.shape) continue;
    throw Unresolved(node.op == "If" ? "a branch did not run, so that its sizes are not known"
                                     : "its steps differ in size, or the sizes are not known");
  }
  return **body;
}

void SetBody(Node& node, std::string_view name, Graph body) {
  FindOwn(node, name)->value = std::make_shared<Graph>(std::move(body));
}

std::vector<Capture> ActiveCaptures(const Graph& body,
                                    const std::function<bool(TensorId)>& is_active) {
  std::vector<Capture> active;
  for (const Capture& capture : body.captures) {
    if (is_active(capture.outer) && IsReal(body, capture.inner)) active.push_back(capture);
  }
  return active;
}

}  // namespace dlcost
