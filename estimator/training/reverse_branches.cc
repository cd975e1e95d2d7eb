#include <algorithm>
#include <map>
#include <memory>

#include "estimator/training/bodies.h"
#include "estimator/training/body_derivative.h"
#include "estimator/training/reverse_bodies.h"
#include "models/operators/op_context.h"

namespace dlcost {
namespace {

// The output of an If that is this value of a branch; kNoTensor where it hands it to nobody.
TensorId OutputLike(const Node& node, const Graph& branch, TensorId id) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (branch.outputs[i] == id) return node.outputs[i];
  }
  return kNoTensor;
}

constexpr const char* kBranches[] = {"then_branch", "else_branch"};

}  // namespace

Gradients ReverseBranches(NodeWriter& w, Node& node, const IsActive& is_active,
                          const std::vector<TensorId>& dy,
                          std::map<std::string, std::string>& unknown) {
  struct Branch {
    std::unique_ptr<BodyDerivative> derivative;
    std::map<TensorId, TensorId> outside;    // seeds, by the gradients that they are
    std::map<TensorId, TensorId> gradients;  // by value of the graph around
  };
  std::vector<Branch> branches;
  std::vector<TensorId> values;  // of the graph around, that get a gradient
  for (const char* name : kBranches) {
    const Graph& body = TypedBody(node, name);
    if (body.outputs.size() < node.outputs.size()) throw Unresolved("a branch has fewer outputs");
    Branch branch;
    branch.derivative = std::make_unique<BodyDerivative>(body, w.opset());
    std::vector<TensorId> leaves, outputs, seeds;
    const std::vector<Capture> captures = ActiveCaptures(body, is_active);
    for (const Capture& capture : captures) leaves.push_back(capture.inner);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (dy[i] == kNoTensor || !IsReal(body, body.outputs[i])) continue;
      outputs.push_back(body.outputs[i]);
      seeds.push_back(dy[i]);
    }
    branch.derivative->Write(leaves, outputs);
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      branch.outside.emplace(branch.derivative->Seed(i), seeds[i]);
    }
    for (const Capture& capture : captures) {
      const TensorId gradient = branch.derivative->GradientOf(capture.inner);
      if (gradient == kNoTensor) continue;
      branch.gradients.emplace(capture.outer, gradient);
      if (std::find(values.begin(), values.end(), capture.outer) == values.end()) {
        values.push_back(capture.outer);
      }
    }
    branches.push_back(std::move(branch));
  }
  if (values.empty()) return {};
  std::vector<Attribute> attributes;
  std::vector<TensorType> types;
  for (const TensorId id : values) types.push_back(w.graph().tensors[Index(id)].type);
  std::vector<std::vector<std::pair<TensorId, TensorType>>> kept;  // by branch
  std::vector<TensorId> further;                                   // outputs of the node
  for (std::size_t b = 0; b < branches.size(); ++b) {
    BodyDerivative& derivative = *branches[b].derivative;
    std::vector<TensorId> outputs;
    for (const TensorId id : values) {
      const auto found = branches[b].gradients.find(id);
      outputs.push_back(
          derivative.AsOutput(found != branches[b].gradients.end()
                                  ? found->second
                                  : derivative.writer().Zeros(w.TypeOf(id), w.ShapeOf(id))));
    }
    Graph backward = derivative.TakeBackward({}, outputs, branches[b].outside);
    kept.emplace_back();
    for (const BodyDerivative::Kept& each : derivative.kept()) {
      const TensorId output = OutputLike(node, derivative.graph(), each.forward);
      if (output != kNoTensor) {
        backward.captures.push_back({output, each.backward});
        continue;
      }
      const Tensor& tensor = derivative.graph().tensors[Index(each.forward)];
      const TensorId outer = w.OfType(node.name + "/" + tensor.name, tensor.type);
      backward.captures.push_back({outer, each.backward});
      kept.back().emplace_back(each.forward, tensor.type);
      further.push_back(outer);
    }
    attributes.push_back({kBranches[b], std::make_shared<Graph>(std::move(backward))});
    unknown.insert(derivative.unknown().begin(), derivative.unknown().end());
  }
  for (std::size_t b = 0; b < branches.size(); ++b) {
    BodyDerivative& derivative = *branches[b].derivative;
    for (std::size_t owner = 0; owner < branches.size(); ++owner) {
      for (const auto& [id, type] : kept[owner]) {
        derivative.AddOutput(owner == b ? id : derivative.writer().Zeros(type.dtype, {0}));
      }
    }
    SetBody(node, kBranches[b], derivative.TakeForward());
  }
  node.outputs.insert(node.outputs.end(), further.begin(), further.end());
  const TensorId condition = node.inputs[0];
  const std::vector<TensorId> outputs = w.Control("If", {condition}, std::move(attributes), types);
  Gradients gradients;
  for (std::size_t i = 0; i < values.size(); ++i) gradients.emplace_back(values[i], outputs[i]);
  return gradients;
}

}  // namespace dlcost
