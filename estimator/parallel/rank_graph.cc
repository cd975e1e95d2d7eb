#include "estimator/parallel/rank_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "estimator/core/error.h"
#include "estimator/infer/edit.h"
#include "estimator/infer/parameters.h"
#include "models/gradients/writer.h"

namespace dlcost {
namespace {

constexpr std::string_view kDomain = "dlcost.parallel";
constexpr int kOpset = 13;  // what shapes are written in

// How a tensor is on a device.
enum class Layout { kWhole, kSplit, kSequence };

class RankWriter {
 public:
  explicit RankWriter(RankGraph& rank)
      : rank_(rank),
        plan_(rank.plan),
        graph_(rank.model.graph),
        macs_(rank.macs),
        axes_(rank.axes),
        split_(rank.split),
        sequence_(rank.sequence) {
    layout_.assign(graph_.tensors.size(), Layout::kWhole);
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      if (Splits(axes_.tensors[t], split_)) layout_[t] = Layout::kSplit;
      whole_shape_.push_back(graph_.tensors[t].type.shape);
    }
  }

  void Write() {
    const auto opset = rank_.model.opset.find("");
    NodeWriter writer(graph_,
                      std::max(kOpset, opset == rank_.model.opset.end() ? 0 : opset->second));
    writer_ = &writer;
    for (std::size_t t = 0; t < layout_.size(); ++t) {
      const bool given = graph_.tensors[t].is_initializer && !axes_.free[t];
      if (given) MakeLocal(static_cast<TensorId>(t));
    }
    for (const TensorId id : graph_.inputs) MakeLocal(id);
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      writer.Place(nodes[n].name, nodes[n].scope, nodes[n].phase);
      CheckCaptures(nodes[n]);
      if (axes_.nodes[n]) Rewrite(n, nodes[n], *axes_.nodes[n]);
      Drain();
      graph_.nodes.push_back(std::move(nodes[n]));
      for (const auto& [partial, op] : pending_) Exchange(partial, op);
      pending_.clear();
      Drain();
    }
    WriteOutputs();
    Drain();
  }

 private:
  using FactorSet = std::set<FactorId>;

  bool Splits(const Axes& axes, const FactorSet& factors) const {
    return axes_.Splits(axes, factors);
  }
  bool Splits(const Axis& axis, const FactorSet& factors) const {
    return axes_.Splits(axis, factors);
  }
  bool IsPartial(const NodeSharding& node) const { return rank_.IsPartial(node); }

  const FactorSet& SetOf(Layout layout) const {
    static const FactorSet kNone;
    return layout == Layout::kSplit ? split_ : layout == Layout::kSequence ? sequence_ : kNone;
  }

  Shape LocalShape(TensorId id, Layout layout) const {
    const auto t = static_cast<std::size_t>(id);
    Shape shape = *whole_shape_[t];
    if (layout == Layout::kWhole) return shape;
    for (std::size_t a = 0; a < shape.rank() && a < axes_.tensors[t].size(); ++a) {
      shape[a] = axes_.factors.PartOf(axes_.tensors[t][a], SetOf(layout), plan_.devices).size;
    }
    return shape;
  }

  // The axis of a tensor along which it is divided.
  std::int64_t AxisOf(TensorId id, Layout layout) const {
    const Axes& axes = axes_.tensors[static_cast<std::size_t>(id)];
    for (std::size_t a = 0; a < axes.size(); ++a) {
      if (Splits(axes[a], SetOf(layout))) return static_cast<std::int64_t>(a);
    }
    return 0;
  }

  bool Touches(const NodeSharding& node) const {
    const auto any = [&](const std::vector<Axes>& all) {
      return std::any_of(all.begin(), all.end(),
                         [&](const Axes& axes) { return Splits(axes, split_); });
    };
    return any(node.inputs) || any(node.outputs) || IsPartial(node);
  }

  bool Differentiates(TensorId id) const {
    const auto t = static_cast<std::size_t>(id);
    return plan_.trains && !axes_.free[t] && IsFloat(graph_.tensors[t].type.dtype);
  }

  // Gives a tensor the size that it has on a device.
  void MakeLocal(TensorId id) {
    const auto t = static_cast<std::size_t>(id);
    Tensor& tensor = graph_.tensors[t];
    if (!whole_shape_[t] || layout_[t] == Layout::kWhole) return;
    const Shape local = LocalShape(id, layout_[t]);
    if (local != *whole_shape_[t]) BecomePart(tensor, local);
  }

  // The written nodes, where they belong.
  void Drain() {
    for (const Node& node : writer_->written()) graph_.nodes.push_back(node);
    writer_->DropFrom(0);
  }

  std::vector<Attribute> Attributes(std::optional<std::int64_t> axis,
                                    bool parameter = false) const {
    std::vector<Attribute> attributes;
    if (axis) attributes.push_back(IntAttribute("axis", *axis));
    attributes.push_back(IntAttribute("devices", plan_.devices));
    if (plan_.stride > 1) attributes.push_back(IntAttribute("stride", plan_.stride));
    // Gradients of parameters may wait for each other and be sent at once.
    if (parameter) attributes.push_back(IntAttribute("parameter", 1));
    return attributes;
  }

  TensorId Written(std::string_view op, TensorId id, std::vector<Attribute> attributes) {
    return writer_->Nodes(op, kDomain, {id}, std::move(attributes), 1)[0];
  }

  // What a node reads instead of a tensor, made once for all that read it so.
  TensorId Variant(std::string_view what, TensorId id, TensorId from, Layout layout) {
    const auto key = std::pair(std::string(what), from);
    const auto known = variants_.find(key);
    if (known != variants_.end()) return known->second;
    TensorId made = kNoTensor;
    if (what == "part") {
      made = writer_->Zeros(writer_->TypeOf(id), LocalShape(id, layout));
    } else if (what == "AllGather") {
      made = Written(what, from, Attributes(AxisOf(id, layout)));
    } else if (what == "Shard") {
      made = Written(what, from, Attributes(AxisOf(id, layout)));
    } else {
      const bool parameter = graph_.tensors[static_cast<std::size_t>(from)].is_initializer;
      made = Written(what, from, Attributes(std::nullopt, parameter));
    }
    variants_.emplace(key, made);
    return made;
  }

  TensorId Current(TensorId id) const {
    const auto known = current_.find(id);
    return known == current_.end() ? id : known->second;
  }

  Layout LayoutOf(TensorId id) const { return layout_[static_cast<std::size_t>(id)]; }
  bool Free(TensorId id) const { return axes_.free[static_cast<std::size_t>(id)]; }

  // Whether a node needs all of what is split: that is gathered before it.
  bool NeedsAll(const NodeSharding& sharding) const {
    return std::any_of(sharding.whole.begin(), sharding.whole.end(),
                       [&](const Axis& axis) { return Splits(axis, split_); });
  }

  void Rewrite(std::size_t n, Node& node, const NodeSharding& sharding) {
    const bool all = NeedsAll(sharding);
    const bool touched = !all && Touches(sharding), partial = !all && IsPartial(sharding);
    if (!touched && macs_[n] > Macs(0) && !OnSequence(node, sharding)) {
      rank_.whole += macs_[n];
      if (macs_[n] > rank_.largest) {
        rank_.largest = macs_[n];
        rank_.largest_name = node.name;
      }
    }
    if (touched) {
      for (const auto& [attribute, axis] : sharding.counts) {
        for (Attribute& each : node.attributes) {
          if (each.name == attribute)
            each.value = axes_.factors.PartOf(axis, split_, plan_.devices).size;
        }
      }
      ForInputs(node, [&](TensorId id) { return SplitInput(id, sharding, partial); });
      for (const TensorId id : node.outputs) {
        if (id == kNoTensor) continue;
        MakeLocal(id);
        if (!partial) continue;
        const bool scatter = !sequence_.empty() && IsFloat(writer_->TypeOf(id)) &&
                             Splits(axes_.tensors[static_cast<std::size_t>(id)], sequence_);
        pending_.emplace_back(id, scatter ? "ReduceScatter" : "AllReduce");
      }
    } else if (OnSequence(node, sharding)) {
      ForInputs(node, [&](TensorId id) { return SequenceInput(id); });
      for (const TensorId id : node.outputs) {
        if (id == kNoTensor || !Splits(axes_.tensors[static_cast<std::size_t>(id)], sequence_)) {
          continue;
        }
        layout_[static_cast<std::size_t>(id)] = Layout::kSequence;
        MakeLocal(id);
      }
    } else {
      ForInputs(node, [&](TensorId id) {
        const Layout layout = LayoutOf(id);
        const bool gathers = layout == Layout::kSequence || (all && layout == Layout::kSplit);
        if (all && Free(id)) return AsInWholeGraph(id);
        if (!gathers) return Current(id);
        return Variant("AllGather", id, Current(id), layout);
      });
    }
    if (all) return TakeParts(node);
    WriteShape(node);
  }

  // Numbers that follow from shapes, as they are without a split.
  TensorId AsInWholeGraph(TensorId id) {
    const Tensor& tensor = graph_.tensors[static_cast<std::size_t>(id)];
    const bool ints = tensor.value != nullptr && tensor.value->is_integer() &&
                      tensor.type.dtype == DType::kInt64 && tensor.type.shape &&
                      tensor.type.shape->rank() == 1;
    return ints ? writer_->Ints(std::vector<std::int64_t>(tensor.value->ints())) : id;
  }

  // Every device has all that a node made, and takes its part.
  void TakeParts(const Node& node) {
    for (const TensorId id : node.outputs) {
      if (id != kNoTensor && LayoutOf(id) == Layout::kSplit) pending_.emplace_back(id, "Shard");
    }
  }

  // A graph inside a node cannot read what devices exchange: its operators are not split.
  void CheckCaptures(const Node& node) const {
    const auto inputs = node.inputs.size();
    std::size_t read = 0;
    ForEachRead(node, [&](TensorId id) {
      if (read++ < inputs) return;
      if (current_.count(id) > 0 || LayoutOf(id) != Layout::kWhole) {
        throw Error(
            "{}: the graph inside {} reads '{}', which devices exchange; that is not "
            "split",
            plan_.option, Printable(node.name),
            Printable(graph_.tensors[static_cast<std::size_t>(id)].name));
      }
    });
  }

  template <typename Map>
  void ForInputs(Node& node, Map map) {
    for (TensorId& id : node.inputs) {
      if (id != kNoTensor) id = map(id);
    }
  }

  // What a node whose operands or results are split reads.
  TensorId SplitInput(TensorId id, const NodeSharding& sharding, bool partial) {
    if (Free(id)) {
      return LayoutOf(id) == Layout::kSplit ? Variant("part", id, id, Layout::kSplit) : id;
    }
    TensorId from = Current(id);
    if (LayoutOf(id) == Layout::kSequence) {
      return Variant("AllGather", id, from, Layout::kSequence);
    }
    const bool splits = std::any_of(sharding.outputs.begin(), sharding.outputs.end(),
                                    [&](const Axes& axes) { return Splits(axes, split_); });
    const bool parts = LayoutOf(id) == Layout::kWhole && splits && !partial;
    const bool constant = graph_.tensors[static_cast<std::size_t>(id)].constant;
    const bool kept = (plan_.keeps_weights && constant) || rank_.gathered.count(id) > 0;
    return parts && !kept && Differentiates(id) ? Variant("Replicate", id, from, Layout::kWhole)
                                                : from;
  }

  // Whether a node that nothing splits works on a part of the sequence: it reads one, and none of
  // its axes that have to be whole or are summed over is the sequence.
  bool OnSequence(const Node& node, const NodeSharding& sharding) const {
    if (sequence_.empty()) return false;
    const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId id) {
      return id != kNoTensor && LayoutOf(id) == Layout::kSequence;
    });
    const auto free_of = [&](const std::vector<Axis>& axes) {
      return std::none_of(axes.begin(), axes.end(),
                          [&](const Axis& axis) { return Splits(axis, sequence_); });
    };
    const auto once = [&](const Axes& axes) {
      return std::count_if(axes.begin(), axes.end(),
                           [&](const Axis& axis) { return Splits(axis, sequence_); }) <= 1;
    };
    return reads && free_of(sharding.whole) && free_of(sharding.summed) &&
           std::all_of(sharding.inputs.begin(), sharding.inputs.end(), once) &&
           std::all_of(sharding.outputs.begin(), sharding.outputs.end(), once);
  }

  TensorId SequenceInput(TensorId id) {
    const bool has = Splits(axes_.tensors[static_cast<std::size_t>(id)], sequence_);
    if (LayoutOf(id) == Layout::kSequence) return Current(id);
    if (!has) {
      if (rank_.gathered.count(id) > 0) return Current(id);
      return Differentiates(id) ? Variant("Replicate", id, Current(id), Layout::kWhole)
                                : Current(id);
    }
    return Free(id) ? Variant("part", id, id, Layout::kSequence)
                    : Variant("Shard", id, Current(id), Layout::kSequence);
  }

  // Shapes that a node is told are those of a device.
  void WriteShape(Node& node) {
    const auto shape_of = [&](std::size_t output) {
      return writer_->Ints(
          graph_.tensors[static_cast<std::size_t>(node.outputs[output])].type.shape->dims());
    };
    const bool changed = std::any_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) {
      return id != kNoTensor && whole_shape_[static_cast<std::size_t>(id)] &&
             LayoutOf(id) != Layout::kWhole;
    });
    if (!changed || !node.domain.empty()) return;
    if (node.op == "Reshape" || node.op == "Expand") {
      if (node.inputs.size() > 1) {
        node.inputs[1] = shape_of(0);
      } else {
        for (Attribute& each : node.attributes) {
          if (each.name == "shape")
            each.value = LocalShape(node.outputs[0], LayoutOf(node.outputs[0])).dims();
        }
      }
    } else if (node.op == "Split") {
      const std::size_t rank = writer_->ShapeOf(node.outputs[0]).rank();
      const AttributeValue* given = node.FindAttribute("axis");
      const auto* axis = given == nullptr ? nullptr : std::get_if<std::int64_t>(given);
      const std::size_t at = NormalizeAxis(axis == nullptr ? 0 : *axis, rank);
      std::vector<std::int64_t> sizes;
      for (const TensorId id : node.outputs) sizes.push_back(writer_->ShapeOf(id)[at]);
      if (node.inputs.size() > 1 && node.inputs[1] != kNoTensor) {
        node.inputs[1] = writer_->Ints(sizes);
      }
      for (Attribute& each : node.attributes) {
        if (each.name == "split") each.value = sizes;
      }
    }
  }

  // Adds up the parts that a node leaves; who reads them reads the sum.
  void Exchange(TensorId partial, const char* op) {
    if (std::string_view(op) == "Shard") {
      current_[partial] = Written(op, partial, Attributes(AxisOf(partial, Layout::kSplit)));
      return;
    }
    const bool scatter = std::string_view(op) == "ReduceScatter";
    current_[partial] = Written(
        op, partial,
        scatter ? Attributes(AxisOf(partial, Layout::kSequence)) : Attributes(std::nullopt));
    if (scatter) layout_[static_cast<std::size_t>(partial)] = Layout::kSequence;
  }

  // Results are whole; in training those that are split stay so, as their loss is.
  void WriteOutputs() {
    for (TensorId& id : graph_.outputs) {
      const TensorId was = id;
      const Layout layout = LayoutOf(id);
      writer_->Place(graph_.tensors[static_cast<std::size_t>(id)].name, "", Phase::kForward);
      id = Current(id);
      if (layout != Layout::kWhole && !plan_.trains && !plan_.keeps_weights && !Free(was)) {
        id = Variant("AllGather", was, id, layout);
      }
      if (id == was) continue;
      std::swap(graph_.tensors[static_cast<std::size_t>(id)].name,
                graph_.tensors[static_cast<std::size_t>(was)].name);
      graph_.tensors[static_cast<std::size_t>(id)].role = Role::kOutput;
      graph_.tensors[static_cast<std::size_t>(was)].role = Role::kActivation;
    }
  }

  RankGraph& rank_;
  const RankPlan& plan_;
  Graph& graph_;
  const std::vector<Macs>& macs_;
  GraphAxes& axes_;
  const FactorSet &split_, &sequence_;
  std::vector<Layout> layout_;                     // of tensors of the whole graph
  std::vector<std::optional<Shape>> whole_shape_;  // of those
  NodeWriter* writer_ = nullptr;
  std::map<std::pair<std::string, TensorId>, TensorId> variants_;
  std::map<TensorId, TensorId> current_;  // the sums of parts
  std::vector<std::pair<TensorId, const char*>> pending_;
};

}  // namespace

RankGraph::RankGraph(const InferredModel& original, const RankPlan& told)
    : plan(told), model(EditableCopy(original)) {
  StoreGenerated(model.graph);
  std::unordered_map<std::string, Macs> of;
  for (const CountedNode& counted : original.nodes) {
    if (counted.graph == &original.model->graph) of[counted.name] = counted.cost.work.macs();
  }
  for (const Node& node : model.graph.nodes) macs.push_back(of[node.name]);
}

bool RankGraph::IsPartial(const NodeSharding& node) const {
  return std::any_of(node.summed.begin(), node.summed.end(),
                     [&](const Axis& axis) { return axes.Splits(axis, split); });
}

void WriteRank(RankGraph& rank) { RankWriter(rank).Write(); }

InferredModel InferWritten(RankGraph rank, const InferredModel& model,
                           const InferOptions& options) {
  InferredModel result = InferEdited(std::move(rank.model), model, options);
  if (rank.whole > Macs(0)) {
    rank.notes.push_back(fmt::format("{} MACs are computed by every device alike, the most by {}",
                                     rank.whole.count(), Printable(rank.largest_name)));
  }
  // A graph that is split once more says the same again.
  for (std::string& note : rank.notes) {
    const bool said =
        std::find(result.notes.begin(), result.notes.end(), note) != result.notes.end();
    if (!said) result.notes.push_back(std::move(note));
  }
  return result;
}

}  // namespace dlcost
