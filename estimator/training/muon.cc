#include "estimator/training/muon.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace dlcost {
namespace {

constexpr int kIterations = 5;
// Of X (a + b A + c A^2) with A = X X': the published quintic.
constexpr double kLinear = 3.4445, kCubic = -4.7750, kQuintic = 2.0315;

constexpr std::string_view kDomain = "dlcost.training";

bool IsOneOf(const Node& node, std::initializer_list<std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), node.op) != ops.end();
}

// What the forward pass does with each parameter.
class WeightUses {
 public:
  explicit WeightUses(const Graph& graph)
      : graph_(graph),
        root_(graph.tensors.size()),
        maker_(graph.tensors.size(), nullptr),
        read_(graph.tensors.size(), false),
        aside_(graph.tensors.size(), false),
        convolved_(graph.tensors.size(), false) {
    for (std::size_t t = 0; t < root_.size(); ++t) root_[t] = static_cast<TensorId>(t);
    for (const Node& node : graph.nodes) {
      if (node.phase == Phase::kForward || node.phase == Phase::kCast) Add(node);
    }
    for (const Node& node : graph.nodes) {
      if (node.phase != Phase::kForward) continue;
      const bool ends = std::none_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) {
        return id != kNoTensor && read_[Index(id)];
      });
      if (ends && !node.outputs.empty()) SetHead(node.outputs[0]);
    }
  }

  // A table, or the weight of the last product.
  bool IsAside(TensorId id) const { return aside_[Index(id)]; }
  bool IsConvolved(TensorId id) const { return convolved_[Index(id)]; }

 private:
  void Add(const Node& node) {
    ForEachRead(node, [&](TensorId id) { read_[Index(id)] = true; });
    for (const TensorId id : node.outputs) {
      if (id != kNoTensor) maker_[Index(id)] = &node;
    }
    if (node.inputs.empty() || node.inputs[0] == kNoTensor) return;
    const TensorId first = root_[Index(node.inputs[0])];
    if (IsOneOf(node, {"Cast", "Transpose", "Identity", "Reshape"}) && !node.outputs.empty()) {
      root_[Index(node.outputs[0])] = first;
    }
    // Positions are the first rows of a table.
    if (IsOneOf(node, {"Gather", "Slice", "EmbedLayerNormalization"})) {
      for (const TensorId id : node.inputs) {
        if (id != kNoTensor) aside_[Index(root_[Index(id)])] = true;
      }
    }
    if (IsOneOf(node, {"Conv", "ConvTranspose"}) && node.inputs.size() > 1) {
      convolved_[Index(root_[Index(node.inputs[1])])] = true;
    }
  }

  // From an output back to the product that makes it, past a bias, a softmax and views.
  void SetHead(TensorId id) {
    for (const Node* node = maker_[Index(id)]; node != nullptr && !node->inputs.empty();) {
      if (IsOneOf(*node, {"MatMul", "Gemm", "FusedMatMul", "Conv"})) {
        for (const TensorId input : node->inputs) {
          if (input != kNoTensor) aside_[Index(root_[Index(input)])] = true;
        }
        return;
      }
      const bool bias = node->op == "Add" && node->inputs.size() == 2;
      TensorId next = node->inputs[0];
      if (bias) {
        const auto stored = [&](TensorId of) {
          return graph_.tensors[Index(root_[Index(of)])].is_initializer;
        };
        if (stored(node->inputs[0]) == stored(node->inputs[1])) return;
        next = stored(node->inputs[0]) ? node->inputs[1] : node->inputs[0];
      } else if (!IsOneOf(*node, {"Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose",
                                  "Softmax", "LogSoftmax", "Sigmoid", "Identity"})) {
        return;
      }
      node = next == kNoTensor ? nullptr : maker_[Index(next)];
    }
  }

  const Graph& graph_;
  std::vector<TensorId> root_;      // of a view or a copy: what it is of
  std::vector<const Node*> maker_;  // of the forward pass
  std::vector<bool> read_, aside_, convolved_;
};

// X (a + b A + c A^2) so often, with A = X X' or X' X, whichever is smaller.
TensorId Orthogonalize(NodeWriter& w, TensorId x) {
  const Shape shape = w.ShapeOf(x);
  const bool wide = shape[0] <= shape[1];
  const auto gemm = [&](TensorId a, TensorId b, TensorId c, std::vector<Attribute> attributes) {
    std::vector<TensorId> inputs = {a, b};
    if (c != kNoTensor) inputs.push_back(c);
    return w.Node1("Gemm", std::move(inputs), std::move(attributes));
  };
  for (int i = 0; i < kIterations; ++i) {
    const TensorId a = gemm(x, x, kNoTensor, {IntAttribute(wide ? "transB" : "transA", 1)});
    const TensorId b =
        gemm(a, a, a, {RealAttribute("alpha", kQuintic), RealAttribute("beta", kCubic)});
    x = gemm(wide ? b : x, wide ? x : b, x, {RealAttribute("beta", kLinear)});
  }
  return x;
}

}  // namespace

std::vector<bool> MuonUpdates(const Graph& graph, const std::vector<TensorId>& parameters) {
  const WeightUses uses(graph);
  std::vector<bool> updates;
  for (const TensorId id : parameters) {
    const auto& shape = graph.tensors[Index(id)].type.shape;
    const bool matrix =
        shape && (shape->rank() == 2 || (shape->rank() > 2 && uses.IsConvolved(id)));
    updates.push_back(matrix && !uses.IsAside(id));
  }
  return updates;
}

std::vector<TensorId> WriteMuon(NodeWriter& writer, const std::vector<TensorId>& parameters,
                                const std::vector<TensorId>& gradients, StepFacts& facts) {
  if (parameters.empty()) return {};
  std::map<std::pair<DType, DType>, std::vector<std::size_t>> by_type;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    by_type[{writer.TypeOf(parameters[i]), writer.TypeOf(gradients[i])}].push_back(i);
  }
  const TensorId rate = writer.Input("learning_rate.muon", DType::kFloat32, {});
  std::vector<TensorId> updated(parameters.size(), kNoTensor);
  for (const auto& [types, members] : by_type) {
    std::vector<TensorId> inputs;
    for (const std::size_t i : members) inputs.push_back(gradients[i]);
    for (const std::size_t i : members) {
      const Shape shape = writer.ShapeOf(parameters[i]);
      const std::string name = writer.graph().tensors[Index(parameters[i])].name + ".momentum";
      inputs.push_back(writer.Input(name, types.first, shape));
      facts.state_bytes += SizeOf(types.first, shape.Elements());
    }
    const std::vector<TensorId> moved =
        writer.Nodes("MuonMomentum", kDomain, std::move(inputs), {}, 2 * members.size());
    std::vector<TensorId> final = {rate};
    for (const std::size_t i : members) final.push_back(parameters[i]);
    for (std::size_t k = 0; k < members.size(); ++k) {
      const Shape shape = writer.ShapeOf(parameters[members[k]]);
      const Shape matrix = {shape[0], shape.Product(1, shape.rank()).value()};
      writer.Place("step/muon/" + writer.graph().tensors[Index(parameters[members[k]])].name,
                   "optimizer", Phase::kOptimizer);
      const TensorId x = Orthogonalize(writer, writer.Reshape(moved[k], matrix));
      final.push_back(writer.Reshape(x, shape));
      writer.graph().outputs.push_back(moved[members.size() + k]);
    }
    writer.Place("step/muon", "optimizer", Phase::kOptimizer);
    const std::vector<TensorId> outputs =
        writer.Nodes("MuonUpdate", kDomain, std::move(final), {}, members.size());
    for (std::size_t k = 0; k < members.size(); ++k) updated[members[k]] = outputs[k];
  }
  return updated;
}

}  // namespace dlcost
