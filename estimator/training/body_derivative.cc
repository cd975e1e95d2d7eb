#include "estimator/training/body_derivative.h"

#include "estimator/core/error.h"
#include "estimator/training/bodies.h"
#include "estimator/training/decompose.h"
#include "models/operators/common.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr int kMostViews = 64;  // of one another, made again rather than kept

}  // namespace

BodyDerivative::BodyDerivative(const Graph& body, int opset)
    : graph_(body),
      writer_(graph_, opset),
      forward_nodes_(body.nodes.size()),
      inputs_(body.inputs),
      forward_outputs_(body.outputs) {}

void BodyDerivative::Write(const std::vector<TensorId>& leaves,
                           const std::vector<TensorId>& outputs) {
  Decompose(writer_, leaves);
  forward_nodes_ = graph_.nodes.size();
  writer_.Place("grad", "", Phase::kBackwardData);
  Seeds seeds;
  for (const TensorId id : outputs) {
    seeds_.push_back(InputLike(id, "gradient"));
    seeds.values.push_back(id);
    seeds.gradients.push_back(seeds_.back());
  }
  reversed_ = Reverse(writer_, leaves, seeds);
  writer_.Place("grad", "", Phase::kBackwardData);
}

TensorId BodyDerivative::GradientOf(TensorId id) const {
  return Index(id) < reversed_.gradients.size() ? reversed_.gradients[Index(id)] : kNoTensor;
}

TensorId BodyDerivative::InputLike(TensorId id, const std::string& name) {
  return writer_.Input(name, writer_.TypeOf(id), writer_.ShapeOf(id));
}

TensorId BodyDerivative::AsOutput(TensorId id) {
  ready_.resize(graph_.tensors.size(), false);
  for (; looked_at_ < writer_.written().size(); ++looked_at_) {
    for (const TensorId output : writer_.written()[looked_at_].outputs) {
      if (output != kNoTensor) ready_[Index(output)] = true;
    }
  }
  if (!ready_[Index(id)]) return writer_.Node1("Identity", {id});
  ready_[Index(id)] = false;
  return id;
}

TensorId BodyDerivative::NewTensor(TensorId like) {
  const auto id = static_cast<TensorId>(backward_.tensors.size());
  Tensor tensor = graph_.tensors[Index(like)];
  tensor.declared.reset();
  if (!tensor.is_initializer) tensor.role = Role::kActivation;
  backward_.tensors.push_back(std::move(tensor));
  return id;
}

// What moves nothing, and what is known before the run.
bool BodyDerivative::IsMadeAgain(TensorId id) const {
  if (producer_[Index(id)] == kNone) return false;
  const Node& node = graph_.nodes[producer_[Index(id)]];
  const OpDef* def = FindOperator(node.domain, node.op);
  return def != nullptr && def->control == ControlFlow::kNone &&
         (graph_.tensors[Index(id)].constant || def->cost == CostView);
}

TensorId BodyDerivative::Map(TensorId id, int depth) {
  if (id == kNoTensor) return kNoTensor;
  if (mapped_[Index(id)] != kNoTensor) return mapped_[Index(id)];
  const Tensor& tensor = graph_.tensors[Index(id)];
  if (!own_[Index(id)] && depth < kMostViews && !tensor.value && IsMadeAgain(id)) {
    Node again = graph_.nodes[producer_[Index(id)]];
    for (TensorId& input : again.inputs) input = Map(input, depth + 1);
    ReplaceCaptures(again, [&](TensorId outer) { return Map(outer, depth + 1); });
    again.name += "/again";
    if (!tensor.constant) again.phase = Phase::kBackwardData;
    for (TensorId& output : again.outputs) {
      if (output != kNoTensor) output = mapped_[Index(output)] = NewTensor(output);
    }
    backward_.nodes.push_back(std::move(again));
    return mapped_[Index(id)];
  }
  const TensorId inner = NewTensor(id);
  mapped_[Index(id)] = inner;
  if (own_[Index(id)] || tensor.is_initializer) return inner;
  const auto captured = captured_.find(id);
  const auto outside = outside_.find(id);
  if (captured != captured_.end()) {
    backward_.captures.push_back({captured->second, inner});
  } else if (outside != outside_.end()) {
    backward_.captures.push_back({outside->second, inner});
  } else if (tensor.value != nullptr && tensor.foldable && tensor.type.shape) {
    Tensor& stored = backward_.tensors[Index(inner)];
    stored.is_initializer = stored.constant = true;
    stored.role = Role::kWeight;
    stored.stored = SizeOf(stored.type.dtype, stored.type.shape->Elements());
  } else {
    kept_.push_back({id, inner});
  }
  return inner;
}

Graph BodyDerivative::TakeBackward(const std::vector<TensorId>& inputs,
                                   const std::vector<TensorId>& outputs,
                                   const std::map<TensorId, TensorId>& outside) {
  writer_.Take();
  outside_ = outside;
  for (const Capture& capture : graph_.captures) captured_.emplace(capture.inner, capture.outer);
  mapped_.assign(graph_.tensors.size(), kNoTensor);
  own_.assign(graph_.tensors.size(), false);
  producer_.assign(graph_.tensors.size(), kNone);
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    for (const TensorId id : graph_.nodes[n].outputs) {
      if (id == kNoTensor) continue;
      if (n < forward_nodes_) {
        producer_[Index(id)] = n;
      } else {
        own_[Index(id)] = true;
      }
    }
  }
  backward_.name = graph_.name;
  for (const TensorId id : inputs) {
    own_[Index(id)] = true;
    backward_.inputs.push_back(Map(id, 0));
  }
  for (std::size_t n = forward_nodes_; n < graph_.nodes.size(); ++n) {
    Node node = std::move(graph_.nodes[n]);
    for (TensorId& id : node.inputs) id = Map(id, 0);
    ReplaceCaptures(node, [&](TensorId outer) { return Map(outer, 0); });
    for (TensorId& id : node.outputs) id = Map(id, 0);
    backward_.nodes.push_back(std::move(node));
  }
  for (const TensorId id : outputs) backward_.outputs.push_back(Map(id, 0));
  graph_.nodes.erase(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(forward_nodes_),
                     graph_.nodes.end());
  return std::move(backward_);
}

void BodyDerivative::AddOutput(TensorId id) {
  writer_.Place("kept", "", Phase::kForward);
  forward_outputs_.push_back(writer_.Node1("Identity", {id}));
}

Graph BodyDerivative::TakeForward() {
  writer_.Take();
  graph_.inputs = inputs_;
  graph_.outputs = forward_outputs_;
  return std::move(graph_);
}

}  // namespace dlcost
