#include "estimator/training/grouped_experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/infer/edit.h"
#include "models/operators/op_context.h"
#include "models/operators/swiglu.h"

namespace dlcost {
namespace {

// Inputs of com.microsoft MoE.
enum Input : std::size_t { kTokens, kRoutes, kFc1, kBias1, kFc2, kBias2, kFc3, kBias3 };

class ExpertWriter {
 public:
  ExpertWriter(NodeWriter& writer, const ExpertPlaces& places) : w_(writer), places_(places) {}

  GroupedExperts Run() {
    const auto is_ours = [](const Node& node) { return node.domain == "com.microsoft"; };
    if (std::none_of(graph().nodes.begin(), graph().nodes.end(), is_ours)) return {};
    std::vector<Node> before = std::move(graph().nodes);
    graph().nodes.clear();
    for (Node& node : before) {
      const bool ours = is_ours(node);
      if (ours && node.op == "MoE" && IsWhole(node)) {
        Write(node);
      } else if (ours && node.op == "QMoE" && places_.devices > 1 && IsRouted(node)) {
        WriteQuantized(node);
      } else {
        graph().nodes.push_back(std::move(node));
      }
    }
    return std::move(result_);
  }

 private:
  Graph& graph() { return w_.graph(); }

  const Shape* ShapeOf(const Node& node, std::size_t input) {
    if (input >= node.inputs.size() || node.inputs[input] == kNoTensor) return nullptr;
    const Tensor& tensor = graph().tensors[static_cast<std::size_t>(node.inputs[input])];
    return tensor.type.shape ? &*tensor.type.shape : nullptr;
  }

  // Whether all that its parts need is there and fits; others stay as they are.
  bool IsWhole(const Node& node) {
    const Shape *x = ShapeOf(node, kTokens), *routes = ShapeOf(node, kRoutes);
    const Shape *fc1 = ShapeOf(node, kFc1), *fc2 = ShapeOf(node, kFc2);
    if (x == nullptr || routes == nullptr || fc1 == nullptr || fc2 == nullptr) return false;
    if (x->rank() < 2 || routes->rank() != 2 || fc1->rank() != 3 || fc2->rank() != 3) return false;
    const std::int64_t width = x->At(-1), experts = (*fc1)[0];
    const OpContext context(graph(), node, 1);
    const std::int64_t active = context.Int("k", 1);
    const std::string activation = context.String("activation_type", "relu");
    const bool gated = activation == "swiglu" && context.Int("swiglu_fusion", 0) != 0;
    const std::int64_t inner = (*fc2)[2];
    const bool known = activation == "relu" || activation == "gelu" || activation == "silu" ||
                       activation == "identity" || activation == "swiglu";
    if (!known || width < 1 || experts < 1 || active < 1 || active > experts) return false;
    if ((*routes)[1] != experts || (*fc2)[0] != experts || (*fc1)[2] != width ||
        (*fc2)[1] != width || (*fc1)[1] != (gated ? 2 : 1) * inner) {
      return false;
    }
    const auto fits = [&](std::size_t input, const Shape& shape) {
      if (input >= node.inputs.size() || node.inputs[input] == kNoTensor) return true;
      const Shape* has = ShapeOf(node, input);
      return has != nullptr && *has == shape;
    };
    return fits(kBias1, {experts, (*fc1)[1]}) && fits(kBias2, {experts, width}) &&
           fits(kFc3, {experts, inner, width}) && fits(kBias3, {experts, inner}) &&
           !node.outputs.empty() && node.outputs[0] != kNoTensor;
  }

  // The same of quantized experts, which stay one node.
  bool IsRouted(const Node& node) {
    const Shape *x = ShapeOf(node, kTokens), *routes = ShapeOf(node, kRoutes);
    if (x == nullptr || routes == nullptr || node.inputs.size() <= kRoutes + 1) return false;
    for (std::size_t input = kFc1; input < node.inputs.size(); ++input) {
      if (node.inputs[input] != kNoTensor && ShapeOf(node, input) == nullptr) return false;
    }
    const std::int64_t active = OpContext(graph(), node, 1).Int("k", 1);
    return x->rank() >= 2 && x->At(-1) >= 1 && routes->rank() == 2 && active >= 1 &&
           active <= (*routes)[1] && !node.outputs.empty() && node.outputs[0] != kNoTensor;
  }

  void WriteQuantized(const Node& node) {
    Begin(node);
    TakeParts(experts_, node.inputs.size());
    const TensorId rows = Exchange(Dispatched(), 0, 1);
    // A device's experts on all rows for them: each row is one expert's.
    const Shape local = w_.ShapeOf(rows);
    const std::int64_t passes = local[0] * local[1];
    std::vector<TensorId> inputs = node.inputs;
    inputs[kTokens] = w_.Reshape(rows, {passes, local[2]});
    inputs[kRoutes] = w_.Zeros(w_.TypeOf(In(kRoutes)), {passes, local[0]});
    std::vector<Attribute> attributes;
    for (const Attribute& attribute : node.attributes) {
      if (attribute.name == "normalize_routing_weights") continue;
      attributes.push_back(attribute.name == "k" ? IntAttribute("k", 1) : attribute);
    }
    const TensorId made = w_.Nodes("QMoE", "com.microsoft", inputs, std::move(attributes), 1)[0];
    End(Exchange(w_.Reshape(made, local), 1, 0));
  }

  void Write(const Node& node) {
    Begin(node);
    const OpContext context(graph(), node, 1);
    const std::string activation = context.String("activation_type", "relu");
    const std::int64_t fused = context.Int("swiglu_fusion", 0);
    const bool gated = activation == "swiglu" && fused != 0;
    alpha_ = context.Float("activation_alpha", 1);
    const double beta = context.Float("activation_beta", 0);
    TakeParts(experts_, kBias3 + 1);
    const TensorId rows_in = Exchange(Dispatched(), 0, 1);
    TensorId x = Linear(rows_in, kFc1, kBias1);
    if (gated) {
      auto [gate, value] = GateAndValue(x, fused);
      if (const std::optional<double> limit = SwigluLimit(context)) {
        gate = Bounded(gate, std::nullopt, *limit);
        value = Bounded(value, -*limit, *limit);
      }
      x = w_.Mul(Activate(gate, "silu"),
                 beta == 0 ? value : w_.Add(value, w_.Scalar(beta, w_.TypeOf(value))));
    } else {
      const TensorId gate = Activate(x, activation == "swiglu" ? "silu" : activation);
      x = Has(kFc3) ? w_.Mul(gate, Linear(rows_in, kFc3, kBias3)) : gate;
    }
    End(Exchange(Linear(x, kFc2, kBias2), 1, 0));
  }

  void Begin(const Node& node) {
    node_ = &node;
    w_.Place(node.name, node.scope, node.phase);
    experts_ = w_.ShapeOf(In(kRoutes))[1];
  }

  // The rows of every expert.
  TensorId Dispatched() {
    const OpContext context(graph(), *node_, 1);
    const std::int64_t active = context.Int("k", 1);
    const Shape whole = w_.ShapeOf(In(kTokens));
    const std::int64_t width = whole.At(-1);
    const std::int64_t tokens = (whole.Elements() / Count(width)).value();
    const std::int64_t rows = RowsOf(tokens, active, experts_);
    const TensorId chances = w_.Node1("Softmax", {In(kRoutes)}, {IntAttribute("axis", -1)});
    const std::vector<TensorId> chosen =
        w_.Nodes("TopK", "", {chances, w_.Ints({active})}, {IntAttribute("axis", -1)}, 2);
    share_ = chosen[0];
    chosen_ = chosen[1];
    if (context.Int("normalize_routing_weights", 0) != 0) {
      share_ = w_.Div(share_, w_.ReduceSum(share_, {-1}));
    }
    const TensorId x = w_.Reshape(In(kTokens), {tokens, width});
    return w_.Nodes("DispatchTokens", kDomain, {x, chosen_},
                    {IntAttribute("experts", experts_), IntAttribute("rows", rows)}, 1)[0];
  }

  // What the experts made of the rows, added up for each token.
  void End(TensorId rows) {
    const TensorId x = w_.Nodes("CombineTokens", kDomain, {rows, chosen_, share_}, {}, 1)[0];
    const Node& node = *node_;
    const TensorId shape = w_.Ints(w_.ShapeOf(In(kTokens)).dims());
    w_.Take();
    Node view;
    view.name = w_.UniqueNode(node.name + "/Reshape");
    view.op = "Reshape";
    view.scope = node.scope;
    view.phase = node.phase;
    view.opset = w_.opset();
    view.inputs = {x, shape};
    view.outputs = {node.outputs[0]};
    graph().nodes.push_back(std::move(view));
  }

  bool Has(std::size_t input) const {
    return input < node_->inputs.size() && node_->inputs[input] != kNoTensor;
  }
  TensorId In(std::size_t input) const { return node_->inputs.at(input); }

  std::int64_t RowsOf(std::int64_t tokens, std::int64_t active, std::int64_t experts) {
    const Count chosen = Count(tokens) * active;
    const double mean = chosen.AsDouble() / static_cast<double>(experts);
    const std::int64_t even = CeilDiv(chosen, experts).value();
    if (places_.load > 1) return RoundToInteger(std::ceil(mean * places_.load));
    if (chosen.value() % experts != 0 && !noted_) {
      noted_ = true;
      result_.notes.push_back(
          fmt::format("{} tokens for {} experts: each gets {}, {:.1f} % more than its share",
                      chosen.value(), experts, even, (static_cast<double>(even) / mean - 1) * 100));
    }
    return even;
  }

  // Weights are those of a device's experts.
  void TakeParts(std::int64_t experts, std::size_t inputs) {
    if (places_.devices > 1 && experts % places_.devices != 0) {
      throw Error("ep={}: the {} experts of {} do not divide among so many devices; {}",
                  places_.devices, experts, Printable(node_->name), WouldDo(experts));
    }
    for (std::size_t input = kFc1; input < inputs; ++input) {
      if (!Has(input) || taken_.count(In(input)) > 0) continue;
      const Shape shape = w_.ShapeOf(In(input));
      if (shape.rank() == 0 || shape[0] != experts) continue;
      taken_.insert(In(input));
      Tensor& tensor = graph().tensors[static_cast<std::size_t>(In(input))];
      if (places_.devices > 1 && !tensor.is_initializer) {
        throw Error("ep={}: '{}' of {} is computed, not stored: such experts are not shared out",
                    places_.devices, Printable(tensor.name), Printable(node_->name));
      }
      result_.weights.push_back(tensor.name);
      if (places_.devices == 1) continue;
      Shape part = *tensor.type.shape;
      part[0] /= places_.devices;
      BecomePart(tensor, part);
    }
  }

  static std::string WouldDo(std::int64_t experts) {
    std::string would;
    for (std::int64_t ways = 2; ways <= experts && ways <= 4096; ++ways) {
      if (experts % ways == 0) would += fmt::format("{}ep={}", would.empty() ? "" : ", ", ways);
    }
    return would.empty() ? "none would do" : would + " would do";
  }

  TensorId Exchange(TensorId x, std::int64_t split, std::int64_t join) {
    if (places_.devices == 1) return x;
    return w_.Nodes(
        "AllToAll", "dlcost.parallel", {x},
        {IntAttribute("split", split), IntAttribute("join", join),
         IntAttribute("devices", places_.devices), IntAttribute("stride", places_.stride)},
        1)[0];
  }

  // [experts, rows, in] times the weights [experts, out, in] of each expert.
  TensorId Linear(TensorId x, Input weight, Input bias) {
    const TensorId y = w_.Product(x, false, In(weight), true);
    if (!Has(bias)) return y;
    const Shape shape = w_.ShapeOf(In(bias));
    return w_.Add(y, w_.Reshape(In(bias), {shape[0], 1, shape[1]}));
  }

  // In pairs (swiglu_fusion 1), or one behind the other.
  std::pair<TensorId, TensorId> GateAndValue(TensorId x, std::int64_t fused) {
    const Shape both = w_.ShapeOf(x);
    const std::int64_t half = both[2] / 2;
    const bool pairs = fused == 1;
    const TensorId from = pairs ? w_.Reshape(x, {both[0], both[1], half, 2}) : x;
    const std::int64_t size = pairs ? 1 : half;
    std::vector<TensorId> parts =
        w_.Nodes("Split", "", {from, w_.Ints({size, size})}, {IntAttribute("axis", -1)}, 2);
    for (TensorId& part : parts) part = w_.Reshape(part, {both[0], both[1], half});
    return {parts[0], parts[1]};
  }

  TensorId Bounded(TensorId x, std::optional<double> least, double most) {
    const DType type = w_.TypeOf(x);
    return w_.Node1("Clip",
                    {x, least ? w_.Scalar(*least, type) : kNoTensor, w_.Scalar(most, type)});
  }

  TensorId Activate(TensorId x, const std::string& activation) {
    if (activation == "relu") return w_.Node1("Relu", {x});
    if (activation == "gelu") return w_.Contrib("Gelu", {x});
    if (activation == "silu") return w_.Contrib("QuickGelu", {x}, {RealAttribute("alpha", alpha_)});
    if (activation == "identity") return x;
    throw Error("{}: experts with the activation '{}' are not known", Printable(node_->name),
                Printable(activation));
  }

  static constexpr std::string_view kDomain = "dlcost.training";

  NodeWriter& w_;
  const ExpertPlaces& places_;
  const Node* node_ = nullptr;
  std::int64_t experts_ = 0;
  TensorId chosen_ = kNoTensor, share_ = kNoTensor;  // experts of each token, and their shares
  std::set<TensorId> taken_;
  double alpha_ = 1;  // of SiLU
  bool noted_ = false;
  GroupedExperts result_;
};

}  // namespace

GroupedExperts GroupExperts(NodeWriter& writer, const ExpertPlaces& places) {
  return ExpertWriter(writer, places).Run();
}

}  // namespace dlcost
