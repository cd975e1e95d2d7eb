#include "estimator/training/fused_attention.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "estimator/training/find_attention.h"
#include "models/operators/attention_core.h"
#include "models/operators/fused_attention.h"

namespace dlcost {
namespace {

// Writes each match as one node, in the place of its last.
class AttentionWriter {
 public:
  AttentionWriter(NodeWriter& writer, std::vector<FoundAttention> matches) : w_(writer) {
    for (FoundAttention& match : matches) {
      gone_.insert(match.nodes.begin(), match.nodes.end());
      matches_.emplace(*std::max_element(match.nodes.begin(), match.nodes.end()), std::move(match));
    }
  }

  void Rewrite() {
    std::vector<Node> before = std::move(nodes());
    nodes().clear();
    std::vector<bool> maybe(before.size(), false);
    for (const auto& [n, match] : matches_) {
      for (const std::size_t m : match.laid_out) maybe[m] = true;
    }
    std::vector<bool> candidates;
    for (std::size_t n = 0; n < before.size(); ++n) {
      const auto found = matches_.find(n);
      if (found != matches_.end()) {
        // Attention in one node keeps its name.
        Write(before[found->second.spelled ? n : found->second.nodes.front()], found->second);
      } else if (gone_.count(n) == 0) {
        nodes().push_back(std::move(before[n]));
      } else {
        continue;
      }
      candidates.resize(nodes().size(), false);
      if (found == matches_.end()) candidates.back() = maybe[n];
    }
    DropUnread(candidates);
  }

 private:
  TensorId AsHeads(const AttentionOperand& operand) {
    return operand.heads_apart ? w_.Reshape(operand.id, *operand.heads_apart) : operand.id;
  }

  void Write(const Node& last, const FoundAttention& match) {
    w_.Place(last.name, last.scope, Phase::kForward);
    const bool packed = match.kv_heads > 0;
    Node fused;
    fused.name = last.name;
    fused.op = kFusedAttention;
    fused.domain = "dlcost.training";
    fused.scope = last.scope;
    fused.inputs = {AsHeads(match.q), packed ? kNoTensor : AsHeads(match.k),
                    packed ? kNoTensor : AsHeads(match.v)};
    for (const TensorId mask : match.masks) {
      // Scores of rank 3 have no axis of heads.
      const std::optional<Shape>& shape = w_.graph().tensors[Index(mask)].type.shape;
      const bool lifts = match.q.axes.size() == 3 && shape->rank() == 3;
      fused.inputs.push_back(lifts ? w_.Reshape(mask, {(*shape)[0], 1, (*shape)[1], (*shape)[2]})
                                   : mask);
    }
    fused.attributes = {IntsAttribute("q_axes", match.q.axes), RealAttribute("scale", match.scale),
                        IntsAttribute("y_axes", match.y_axes)};
    const auto add = [&](bool present, Attribute attribute) {
      if (present) fused.attributes.push_back(std::move(attribute));
    };
    add(!packed, IntsAttribute("k_axes", match.k.axes));
    add(!packed, IntsAttribute("v_axes", match.v.axes));
    add(packed, IntAttribute("kv_heads", match.kv_heads));
    add(match.softcap != 0, RealAttribute("softcap", match.softcap));
    add(match.dropout != 0, RealAttribute("dropout", match.dropout));
    add(match.causal, IntAttribute("causal", 1));
    add(match.triangular, IntAttribute("triangular", 1));
    add(match.spelled, IntAttribute("keeps_scores", 1));
    add(match.context_devices > 1,
        IntAttribute(std::string(kContextDevices), match.context_devices));
    add(match.left >= 0, IntAttribute("left_window_size", match.left));
    add(match.right >= 0, IntAttribute("right_window_size", match.right));
    add(!match.kinds.empty(), {"masks", match.kinds});
    if (!match.y_shape) {
      fused.outputs = {match.y};
      w_.Take();
      nodes().push_back(std::move(fused));
      return;
    }
    // The heads side by side, as the model has them.
    w_.Take();
    const TensorId heads = w_.ExtraOutput(fused, 0);
    nodes().push_back(std::move(fused));
    Node view;
    view.name = w_.UniqueNode(last.name + "/Reshape");
    view.op = "Reshape";
    view.scope = last.scope;
    view.opset = w_.opset();
    view.inputs = {heads, w_.Ints(match.y_shape->dims())};
    view.outputs = {match.y};
    nodes().push_back(std::move(view));
  }

  // Nodes that laid out operands for nobody else.
  void DropUnread(const std::vector<bool>& candidates) {
    std::vector<std::size_t> reads(graph().tensors.size(), 0);
    for (const Node& each : nodes()) {
      ForEachRead(each, [&](TensorId id) { ++reads[Index(id)]; });
    }
    for (const TensorId id : graph().outputs) ++reads[Index(id)];
    std::vector<bool> unread(nodes().size(), false);
    for (std::size_t n = nodes().size(); n-- > 0;) {
      const Node& each = nodes()[n];
      if (n >= candidates.size() || !candidates[n]) continue;
      unread[n] = std::all_of(each.outputs.begin(), each.outputs.end(), [&](TensorId id) {
        return id == kNoTensor || reads[Index(id)] == 0;
      });
      if (unread[n]) ForEachRead(each, [&](TensorId id) { --reads[Index(id)]; });
    }
    std::size_t n = 0;
    std::erase_if(nodes(), [&](const Node&) { return unread[n++]; });
  }

  Graph& graph() { return w_.graph(); }
  std::vector<Node>& nodes() { return w_.graph().nodes; }

  NodeWriter& w_;
  std::map<std::size_t, FoundAttention> matches_;  // by the node in whose place the kernel is
  std::unordered_set<std::size_t> gone_;
};

}  // namespace

void FuseAttention(NodeWriter& writer, const std::vector<TensorId>& parameters,
                   const AttentionFusion& options) {
  if (!options.fuses) return;
  writer.Take();
  std::vector<FoundAttention> matches = FindAttention(writer.graph(), parameters, options);
  if (!matches.empty()) AttentionWriter(writer, std::move(matches)).Rewrite();
}

}  // namespace dlcost
