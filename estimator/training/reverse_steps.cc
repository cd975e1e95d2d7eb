#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "estimator/training/bodies.h"
#include "estimator/training/body_derivative.h"
#include "estimator/training/reverse_bodies.h"
#include "models/operators/op_context.h"

namespace dlcost {
namespace {

TensorId At(const std::vector<TensorId>& ids, std::size_t i) {
  return i < ids.size() ? ids[i] : kNoTensor;
}

Phase PhaseOf(const Graph& graph, TensorId captured) {
  return graph.tensors[Index(captured)].constant ? Phase::kBackwardWeights : Phase::kBackwardData;
}

// A Loop or a Scan, and how its inputs and outputs belong to those of its body.
class Steps {
 public:
  Steps(NodeWriter& writer, Node& node, const IsActive& is_active,
        const std::vector<TensorId>& outputs)
      : w_(writer),
        node_(node),
        is_active_(is_active),
        dy_(outputs),
        body_(TypedBody(node, "body")),
        loop_(node.op == "Loop"),
        derivative_(body_, writer.opset()) {
    std::size_t scans = 0;
    if (!loop_) {
      if (node.opset < 9) throw Unresolved("the derivative of a Scan of opset 8 is not written");
      const AttributeValue* declared = node.FindAttribute("num_scan_inputs");
      const auto* count = declared == nullptr ? nullptr : std::get_if<std::int64_t>(declared);
      if (count == nullptr || *count < 1) throw Unresolved("it scans nothing");
      scans = static_cast<std::size_t>(*count);
    }
    const std::size_t head = loop_ ? 2 : 0;  // iteration and condition
    if (body_.inputs.size() != node.inputs.size() || body_.inputs.size() < head + scans) {
      throw Unresolved("its body has other inputs than it");
    }
    states_ = body_.inputs.size() - head - scans;
    scans_ = scans;
    if (body_.outputs.size() < states_ + FirstOutput()) {
      throw Unresolved("its body hands on less than it gets");
    }
    results_ = body_.outputs.size() - FirstOutput() - states_;
    for (const Node& inner : body_.nodes) {
      if (inner.op != "Identity" || inner.inputs.empty() || inner.outputs.empty()) continue;
      identity_of_.emplace(inner.outputs[0], inner.inputs[0]);
    }
  }

  Gradients Reverse(std::map<std::string, std::string>& unknown) {
    ChooseStates();
    WriteBody();
    if (body_outputs_.empty()) return {};
    Graph backward = derivative_.TakeBackward(body_inputs_, body_outputs_, Invariants());
    // States last: where a step begins is where the one before ended, which may be kept anyway.
    const std::vector<BodyDerivative::Kept> kept = derivative_.kept();
    for (const bool states : {false, true}) {
      for (const BodyDerivative::Kept& each : kept) {
        if (StateOf(each.forward).has_value() == states) Scan(each, backward);
      }
    }
    if (scan_inputs_.empty()) ScanAnything(backward);
    unknown.insert(derivative_.unknown().begin(), derivative_.unknown().end());
    Gradients gradients = WriteNode(std::move(backward));
    FinishForward();
    return gradients;
  }

 private:
  std::size_t FirstInput() const { return loop_ ? 2 : 0; }
  std::size_t FirstOutput() const { return loop_ ? 1 : 0; }
  TensorId StateIn(std::size_t i) const { return body_.inputs[FirstInput() + i]; }
  TensorId StateOut(std::size_t i) const { return body_.outputs[FirstOutput() + i]; }
  TensorId ScanIn(std::size_t i) const { return body_.inputs[FirstInput() + states_ + i]; }
  TensorId Result(std::size_t i) const { return body_.outputs[FirstOutput() + states_ + i]; }
  TensorId Initial(std::size_t i) const { return node_.inputs[FirstInput() + i]; }
  TensorId Scanned(std::size_t i) const { return node_.inputs[FirstInput() + states_ + i]; }

  // The axis or the direction along which input or output i is scanned.
  std::int64_t Of(const char* attribute, std::size_t i) const {
    const AttributeValue* value = node_.FindAttribute(attribute);
    const auto* all = value == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(value);
    return all != nullptr && i < all->size() ? (*all)[i] : 0;
  }

  // What a value of the body is a copy of.
  TensorId Source(TensorId id) const {
    // No chain is longer than the body.
    for (std::size_t moves = 0; moves < body_.nodes.size(); ++moves) {
      const auto from = identity_of_.find(id);
      if (from == identity_of_.end()) break;
      id = from->second;
    }
    return id;
  }

  // Whether the body hands a state on as it got it.
  bool IsInvariant(std::size_t i) const { return Source(StateOut(i)) == StateIn(i); }

  std::optional<std::size_t> StateOf(TensorId id) const {
    for (std::size_t i = 0; i < states_; ++i) {
      if (StateIn(i) == id) return i;
    }
    return std::nullopt;
  }

  // Sets leaves_, and the states that a gradient comes back through.
  void ChooseStates() {
    std::vector<bool> depends(states_, false);
    for (std::size_t i = 0; i < states_; ++i) {
      depends[i] = is_active_(Initial(i)) && IsReal(body_, StateIn(i));
    }
    captures_ = ActiveCaptures(body_, is_active_);
    std::vector<bool> active;
    for (bool more = true; more;) {
      more = false;
      active.assign(body_.tensors.size(), false);
      for (const Capture& capture : captures_) active[Index(capture.inner)] = true;
      for (std::size_t i = 0; i < states_; ++i) active[Index(StateIn(i))] = depends[i];
      for (std::size_t i = 0; i < scans_; ++i) {
        active[Index(ScanIn(i))] = is_active_(Scanned(i)) && IsReal(body_, ScanIn(i));
      }
      leaves_.clear();
      for (std::size_t t = 0; t < active.size(); ++t) {
        if (active[t]) leaves_.push_back(static_cast<TensorId>(t));
      }
      SpreadActivity(body_, active);
      for (std::size_t i = 0; i < states_; ++i) {
        if (depends[i] || !active[Index(StateOut(i))] || !IsReal(body_, StateIn(i))) continue;
        depends[i] = more = true;
      }
    }
    // Backwards: a state has a gradient where the value behind the last step has one, or where it
    // reaches a result or a state that has.
    std::vector<bool> has(states_, false);
    for (std::size_t i = 0; i < states_; ++i) has[i] = depends[i] && At(dy_, i) != kNoTensor;
    for (bool more = true; more;) {
      more = false;
      std::vector<bool> reached(body_.tensors.size(), false);
      for (std::size_t i = 0; i < states_; ++i) {
        if (has[i]) reached[Index(StateOut(i))] = true;
      }
      for (std::size_t i = 0; i < results_; ++i) {
        if (HasResult(i) && active[Index(Result(i))]) reached[Index(Result(i))] = true;
      }
      for (auto node = body_.nodes.rbegin(); node != body_.nodes.rend(); ++node) {
        const bool any = std::any_of(node->outputs.begin(), node->outputs.end(), [&](TensorId id) {
          return id != kNoTensor && reached[Index(id)];
        });
        if (!any) continue;
        ForEachRead(*node, [&](TensorId id) {
          if (active[Index(id)]) reached[Index(id)] = true;
        });
      }
      for (std::size_t i = 0; i < states_; ++i) {
        if (has[i] || !depends[i] || !reached[Index(StateIn(i))]) continue;
        has[i] = more = true;
      }
    }
    for (std::size_t i = 0; i < states_; ++i) {
      if (has[i]) carried_.push_back(i);
    }
    active_ = std::move(active);
  }

  bool HasResult(std::size_t i) const { return At(dy_, states_ + i) != kNoTensor; }

  void WriteBody() {
    std::vector<TensorId> outputs;
    std::vector<std::size_t> results;
    for (const std::size_t i : carried_) outputs.push_back(StateOut(i));
    for (std::size_t i = 0; i < results_; ++i) {
      if (!HasResult(i) || !active_[Index(Result(i))]) continue;
      outputs.push_back(Result(i));
      results.push_back(i);
    }
    derivative_.Write(leaves_, outputs);
    NodeWriter& inner = derivative_.writer();
    std::vector<TensorId> sums;
    for (std::size_t k = 0; k < carried_.size(); ++k) {
      const TensorId state = StateIn(carried_[k]);
      body_inputs_.push_back(derivative_.Seed(k));
      TensorId gradient = derivative_.GradientOf(state);
      if (gradient == kNoTensor) gradient = inner.Zeros(inner.TypeOf(state), inner.ShapeOf(state));
      body_outputs_.push_back(derivative_.AsOutput(gradient));
    }
    for (const Capture& capture : captures_) {
      const TensorId gradient = derivative_.GradientOf(capture.inner);
      if (gradient == kNoTensor) continue;
      const TensorId before = derivative_.InputLike(gradient, "sum");
      inner.Place("grad", "", PhaseOf(derivative_.graph(), capture.inner));
      body_inputs_.push_back(before);
      body_outputs_.push_back(derivative_.AsOutput(inner.Add(before, gradient)));
      summed_.push_back(capture.outer);
    }
    inner.Place("grad", "", Phase::kBackwardData);
    for (std::size_t i = 0; i < results.size(); ++i) {
      body_inputs_.push_back(derivative_.Seed(carried_.size() + i));
      AddScan(dy_[states_ + results[i]], Of("scan_output_axes", results[i]),
              Of("scan_output_directions", results[i]));
    }
    for (std::size_t i = 0; i < scans_; ++i) {
      const TensorId gradient = derivative_.GradientOf(ScanIn(i));
      if (gradient == kNoTensor) continue;
      body_outputs_.push_back(derivative_.AsOutput(gradient));
      scanned_.push_back(i);
    }
  }

  // What every step reads as it came in: from outside.
  std::map<TensorId, TensorId> Invariants() const {
    std::map<TensorId, TensorId> outside;
    for (std::size_t i = 0; i < states_; ++i) {
      if (IsInvariant(i) && Initial(i) != kNoTensor) outside.emplace(StateIn(i), Initial(i));
    }
    return outside;
  }

  // The backward node goes through a stack in the other direction than the forward one.
  void AddScan(TensorId stack, std::int64_t axis, std::int64_t direction) {
    scan_inputs_.push_back(stack);
    scan_axes_.push_back(axis);
    scan_directions_.push_back(1 - direction);
  }

  void Scan(const BodyDerivative::Kept& kept, Graph& backward) {
    backward.inputs.push_back(kept.backward);
    for (std::size_t i = 0; i < scans_; ++i) {
      if (ScanIn(i) != kept.forward) continue;
      return AddScan(Scanned(i), Of("scan_input_axes", i), Of("scan_input_directions", i));
    }
    const std::optional<std::size_t> state = StateOf(kept.forward);
    TensorId stack = state ? Before(*state) : kNoTensor;
    if (stack == kNoTensor) {
      if (const std::optional<std::size_t> i = ResultLike(kept.forward)) {
        return AddScan(node_.outputs[states_ + *i], Of("scan_output_axes", *i),
                       Of("scan_output_directions", *i));
      }
      stack = Stack(kept.forward);
    }
    AddScan(stack, 0, 0);
  }

  // The result of the node that is this value of every step.
  std::optional<std::size_t> ResultLike(TensorId id) const {
    for (std::size_t i = 0; i < results_; ++i) {
      if (At(node_.outputs, states_ + i) == kNoTensor) continue;
      if (Source(Result(i)) == Source(id)) return i;
    }
    return std::nullopt;
  }

  // What steps begin with, of what they end with where that is stacked in their order: the first
  // with the initial state. kNoTensor where it is not.
  TensorId Before(std::size_t state) {
    TensorId ends = kNoTensor;
    const std::optional<std::size_t> result = ResultLike(StateOut(state));
    if (result && Of("scan_output_axes", *result) == 0 &&
        Of("scan_output_directions", *result) == 0) {
      ends = node_.outputs[states_ + *result];
    }
    const auto stacked = stack_of_.find(Source(StateOut(state)));
    if (stacked != stack_of_.end()) ends = stacked->second;
    if (ends == kNoTensor) return kNoTensor;
    const TensorId first = w_.Node1("Unsqueeze", {Initial(state), w_.Ints({0})});
    const TensorId others = w_.Node1("Slice", {ends, w_.Ints({0}), w_.Ints({-1}), w_.Ints({0})});
    return w_.Node1("Concat", {first, others}, {IntAttribute("axis", 0)});
  }

  // A further result of the forward node.
  TensorId Stack(TensorId id) {
    derivative_.AddOutput(id);
    // What a loop inside stacks is the copy's alone.
    const Tensor& kept = derivative_.graph().tensors[Index(id)];
    TensorType type = kept.type;
    type.shape.reset();  // how many steps there are is counted when the step is inferred
    stacks_.push_back(w_.OfType(node_.name + "/" + kept.name, type));
    stack_of_.emplace(Source(id), stacks_.back());
    return stacks_.back();
  }

  // Something to count the steps by.
  void ScanAnything(Graph& backward) {
    const TensorId id = loop_ ? body_.inputs[0] : ScanIn(0);
    const auto inner = static_cast<TensorId>(backward.tensors.size());
    backward.tensors.push_back(body_.tensors[Index(id)]);
    backward.tensors.back().value = nullptr;
    Scan({id, inner}, backward);
  }

  void FinishForward() {
    node_.outputs.resize(states_ + results_, kNoTensor);
    node_.outputs.insert(node_.outputs.end(), stacks_.begin(), stacks_.end());
    for (const char* name : {"scan_output_axes", "scan_output_directions"}) {
      Attribute* attribute = FindOwn(node_, name);
      auto* all = attribute == nullptr ? nullptr
                                       : std::get_if<std::vector<std::int64_t>>(&attribute->value);
      if (all != nullptr) all->resize(results_ + stacks_.size(), 0);
    }
    SetBody(node_, "body", derivative_.TakeForward());
  }

  Gradients WriteNode(Graph backward) {
    std::vector<TensorId> inputs;
    std::vector<TensorType> types;
    Gradients gradients;
    for (const std::size_t i : carried_) {
      const DType type = w_.TypeOf(Initial(i));
      const TensorId given = At(dy_, i);
      inputs.push_back(given != kNoTensor ? given : w_.Zeros(type, w_.ShapeOf(Initial(i))));
      types.push_back(w_.graph().tensors[Index(Initial(i))].type);
    }
    for (const TensorId outer : summed_) {
      inputs.push_back(w_.Zeros(w_.TypeOf(outer), w_.ShapeOf(outer)));
      types.push_back(w_.graph().tensors[Index(outer)].type);
    }
    inputs.insert(inputs.end(), scan_inputs_.begin(), scan_inputs_.end());
    std::vector<std::int64_t> axes, directions;
    for (const std::size_t i : scanned_) {
      types.push_back(w_.graph().tensors[Index(Scanned(i))].type);
      axes.push_back(Of("scan_input_axes", i));
      directions.push_back(1 - Of("scan_input_directions", i));
    }
    std::vector<Attribute> attributes = {
        {"body", std::make_shared<Graph>(std::move(backward))},
        IntAttribute("num_scan_inputs", static_cast<std::int64_t>(scan_inputs_.size())),
        IntsAttribute("scan_input_axes", scan_axes_),
        IntsAttribute("scan_input_directions", scan_directions_)};
    if (!axes.empty()) {
      attributes.push_back(IntsAttribute("scan_output_axes", axes));
      attributes.push_back(IntsAttribute("scan_output_directions", directions));
    }
    const std::vector<TensorId> outputs =
        w_.Control("Scan", std::move(inputs), std::move(attributes), types);
    std::size_t next = 0;
    for (const std::size_t i : carried_) gradients.emplace_back(Initial(i), outputs[next++]);
    for (const TensorId outer : summed_) gradients.emplace_back(outer, outputs[next++]);
    for (const std::size_t i : scanned_) gradients.emplace_back(Scanned(i), outputs[next++]);
    std::erase_if(gradients, [&](const auto& each) { return !is_active_(each.first); });
    return gradients;
  }

  NodeWriter& w_;
  Node& node_;
  const IsActive& is_active_;
  const std::vector<TensorId>& dy_;
  const Graph& body_;
  bool loop_;
  BodyDerivative derivative_;
  std::size_t states_ = 0, scans_ = 0, results_ = 0;
  std::vector<TensorId> leaves_;      // of the body
  std::vector<bool> active_;          // per tensor of the body
  std::vector<Capture> captures_;     // that want a gradient
  std::vector<std::size_t> carried_;  // states that a gradient comes back through
  std::vector<TensorId> summed_;      // captured values with a gradient
  std::vector<std::size_t> scanned_;  // scanned inputs with a gradient
  // The backward node's, in order; of the body those that are known before it is taken.
  std::vector<TensorId> body_inputs_, body_outputs_, scan_inputs_;
  std::vector<std::int64_t> scan_axes_, scan_directions_;
  std::vector<TensorId> stacks_;                        // further outputs of the forward node
  std::unordered_map<TensorId, TensorId> identity_of_;  // what a value of the body is a copy of
  std::unordered_map<TensorId, TensorId> stack_of_;     // by value of the body
};

}  // namespace

Gradients ReverseSteps(NodeWriter& writer, Node& node, const IsActive& is_active,
                       const std::vector<TensorId>& outputs,
                       std::map<std::string, std::string>& unknown) {
  return Steps(writer, node, is_active, outputs).Reverse(unknown);
}

}  // namespace dlcost
