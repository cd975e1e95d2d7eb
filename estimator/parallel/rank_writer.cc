#include <algorithm>
#include <utility>

#include "estimator/core/error.h"
#include "estimator/parallel/caches.h"
#include "estimator/parallel/rank_graph.h"
#include "estimator/parallel/rank_tensors.h"

namespace dlcost {
namespace {

constexpr int kShapesOpset = 13;  // what shapes are written in

class RankWriter : RankTensors {
 public:
  explicit RankWriter(RankGraph& rank) : RankTensors(rank) {}

  void Write() {
    const auto opset = rank_.model.opset.find("");
    NodeWriter writer(graph_,
                      std::max(kShapesOpset, opset == rank_.model.opset.end() ? 0 : opset->second));
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
  bool IsPartial(const NodeSharding& node) const { return rank_.IsPartial(node); }

  bool Touches(const NodeSharding& node) const {
    const auto any = [&](const std::vector<Axes>& all) {
      return std::any_of(all.begin(), all.end(),
                         [&](const Axes& axes) { return Splits(axes, split_); });
    };
    return any(node.inputs) || any(node.outputs) || IsPartial(node);
  }

  // The written nodes, where they belong.
  void Drain() { writer_->Take(); }

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

  // Results are whole, but for caches; in training those that are split stay so, as their loss is.
  void WriteOutputs() {
    for (TensorId& id : graph_.outputs) {
      const TensorId was = id;
      const Layout layout = LayoutOf(id);
      writer_->Place(graph_.tensors[static_cast<std::size_t>(id)].name, "", Phase::kForward);
      id = Current(id);
      if (layout != Layout::kWhole && !plan_.trains && !plan_.keeps_weights && !Free(was) &&
          !caches_[static_cast<std::size_t>(was)]) {
        id = Variant("AllGather", was, id, layout);
      }
      if (id == was) continue;
      std::swap(graph_.tensors[static_cast<std::size_t>(id)].name,
                graph_.tensors[static_cast<std::size_t>(was)].name);
      graph_.tensors[static_cast<std::size_t>(id)].role = Role::kOutput;
      graph_.tensors[static_cast<std::size_t>(was)].role = Role::kActivation;
    }
  }

  std::vector<std::pair<TensorId, const char*>> pending_;
  const std::vector<bool> caches_ = CachesOf(graph_, macs_);  // of the whole graph
};

}  // namespace

void WriteRank(RankGraph& rank) { RankWriter(rank).Write(); }

}  // namespace dlcost
