#include "estimator/parallel/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "estimator/core/error.h"
#include "estimator/parallel/caches.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

// A split axis has at least this part of the products of the one that has the most.
constexpr double kLeastShare = 0.01;

const Tensor& At(const Graph& graph, TensorId id) {
  return graph.tensors[static_cast<std::size_t>(id)];
}

bool HasGraphs(const Node& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(), [](const Attribute& a) {
    return std::holds_alternative<std::shared_ptr<Graph>>(a.value) ||
           std::holds_alternative<std::vector<std::shared_ptr<Graph>>>(a.value);
  });
}

bool HasShapes(const Graph& graph, const Node& node) {
  const auto known = [&](TensorId id) {
    return id == kNoTensor || At(graph, id).type.shape.has_value();
  };
  return std::all_of(node.inputs.begin(), node.inputs.end(), known) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), known);
}

class AxesBuilder {
 public:
  explicit AxesBuilder(Graph& graph) : graph_(graph) {
    axes_.tensors.resize(graph.tensors.size());
    axes_.free.assign(graph.tensors.size(), false);
    has_.assign(graph.tensors.size(), false);
  }

  GraphAxes Build() {
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      const Tensor& tensor = graph_.tensors[t];
      axes_.free[t] = tensor.is_initializer && !IsWeight(tensor);
    }
    axes_.nodes.reserve(graph_.nodes.size());
    for (const Node& node : graph_.nodes) axes_.nodes.push_back(Visit(node));
    return std::move(axes_);
  }

 private:
  // Stored numbers that have an axis to split: floating-point ones, and quantized matrices.
  static bool IsWeight(const Tensor& tensor) {
    if (!tensor.type.shape || tensor.type.shape->Elements() <= Count(1)) return false;
    return IsFloat(tensor.type.dtype) ||
           (tensor.value == nullptr && tensor.type.shape->rank() >= 2);
  }

  const Axes& Of(TensorId id) {
    const auto t = static_cast<std::size_t>(id);
    if (!has_[t]) {
      has_[t] = true;
      const std::optional<Shape>& shape = graph_.tensors[t].type.shape;
      for (std::size_t a = 0; shape && a < shape->rank(); ++a) {
        axes_.tensors[t].push_back(axes_.factors.New((*shape)[a]));
      }
    }
    return axes_.tensors[t];
  }

  std::optional<NodeSharding> Visit(const Node& node) {
    const auto is_free = [&](TensorId id) {
      return id == kNoTensor || axes_.free[static_cast<std::size_t>(id)];
    };
    const bool folded = std::all_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) {
      return id == kNoTensor || At(graph_, id).foldable;
    });
    const bool counts = std::any_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) {
      return id != kNoTensor && At(graph_, id).value != nullptr;
    });
    if (folded && (counts || std::all_of(node.inputs.begin(), node.inputs.end(), is_free))) {
      for (const TensorId id : node.outputs) {
        if (id != kNoTensor) axes_.free[static_cast<std::size_t>(id)] = true;
      }
      return std::nullopt;
    }
    NodeSharding sharding;
    std::vector<Axes> inputs;
    inputs.reserve(node.inputs.size());
    for (const TensorId id : node.inputs) inputs.push_back(id == kNoTensor ? Axes{} : Of(id));
    const OpDef* def = FindOperator(node.domain, node.op);
    if (def == nullptr || HasGraphs(node) || !HasShapes(graph_, node)) {
      ForEachRead(node, [&](TensorId id) {
        for (const Axis& axis : Of(id)) sharding.whole.push_back(axis);
      });
      for (const TensorId id : node.outputs) {
        if (id == kNoTensor) continue;
        for (const Axis& axis : Of(id)) sharding.whole.push_back(axis);
      }
      return sharding;
    }
    sharding = ShardingOf(axes_.factors, {graph_, node, SinceVersion(*def, node.opset)}, def,
                          std::move(inputs));
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const TensorId id = node.outputs[o];
      if (id == kNoTensor) continue;
      const auto t = static_cast<std::size_t>(id);
      axes_.tensors[t] = sharding.outputs[o];
      has_[t] = true;
    }
    return sharding;
  }

  Graph& graph_;
  GraphAxes axes_;
  std::vector<bool> has_;
};

// What splitting one factor does.
struct Candidate {
  FactorId factor = 0;
  double macs = 0;   // of products that it divides
  double bytes = 0;  // of sums and results to exchange
  bool in_weight = false, looked_up = false, possible = true;
  bool made = false, inner = false;  // by a product, and summed over by one
  bool passed = false;               // from node to node, not only stored
  std::vector<std::size_t> tensors;
  TensorId weight = kNoTensor;
};

class Chooser {
 public:
  Chooser(const Graph& graph, const GraphAxes& axes, const std::vector<Macs>& macs, int devices)
      : graph_(graph), axes_(axes), macs_(macs), devices_(devices) {}

  Split Choose() {
    Collect();
    std::vector<const Candidate*> order;
    double most = 0;
    for (const auto& [factor, candidate] : candidates_) {
      if (!candidate.possible || !candidate.in_weight || axes_.factors.blocked(factor)) continue;
      order.push_back(&candidate);
      if (candidate.bytes > 0 || candidate.macs > 0) most = std::max(most, candidate.macs);
    }
    std::stable_sort(order.begin(), order.end(), [](const Candidate* a, const Candidate* b) {
      return a->macs * (b->bytes + 1) > b->macs * (a->bytes + 1);
    });
    std::int64_t common = 0;  // what all chosen sizes divide by
    const Candidate* odd = nullptr;
    for (const Candidate* candidate : order) {
      const bool worth =
          candidate->macs > 0 ? candidate->macs >= kLeastShare * most : candidate->looked_up;
      // What the model is given, such as the channels of an image, every device has.
      const bool given = candidate->inner && candidate->passed && !candidate->made;
      if (!worth || given || !Fits(*candidate)) continue;
      const std::int64_t size = axes_.factors.SizeOf({candidate->factor});
      if (size % devices_ != 0 && !candidate->inner) {
        split_.notes.push_back(fmt::format(
            "{} stays whole on every device: {} does not divide among {} (padded to {} it would)",
            Name(*candidate), size, devices_, (size / devices_ + 1) * devices_));
        continue;
      }
      if (candidate->inner) common = std::gcd(common, size);
      if (size % devices_ != 0 && odd == nullptr) odd = candidate;
      split_.factors.insert(candidate->factor);
    }
    if (odd != nullptr) ThrowOdd(*odd, common);
    if (split_.factors.empty()) {
      throw Error("tp={}: no axis of this model's weights can be split among devices", devices_);
    }
    return std::move(split_);
  }

 private:
  Candidate& Of(FactorId leaf) {
    Candidate& candidate = candidates_[leaf];
    candidate.factor = leaf;
    return candidate;
  }

  void Collect() {
    for (std::size_t t = 0; t < axes_.tensors.size(); ++t) {
      std::vector<FactorId> leaves;
      for (const Axis& axis : axes_.tensors[t]) axes_.factors.AddLeaves(axis, leaves);
      for (const FactorId leaf : leaves) {
        Candidate& candidate = Of(leaf);
        candidate.tensors.push_back(t);
        if (graph_.tensors[t].is_initializer && !axes_.free[t]) {
          candidate.in_weight = true;
          const TensorId best = candidate.weight;
          const bool larger = best == kNoTensor || At(graph_, best).type.shape->rank() <
                                                       graph_.tensors[t].type.shape->rank();
          if (larger) candidate.weight = static_cast<TensorId>(t);
        } else {
          candidate.passed = true;
        }
      }
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!axes_.nodes[n]) continue;
      const NodeSharding& sharding = *axes_.nodes[n];
      std::vector<FactorId> touched;
      const auto touch = [&](const Axis& axis) { axes_.factors.AddLeaves(axis, touched); };
      for (const Axes& axes : sharding.inputs) std::for_each(axes.begin(), axes.end(), touch);
      for (const Axes& axes : sharding.outputs) std::for_each(axes.begin(), axes.end(), touch);
      for (const FactorId leaf : touched) Of(leaf).macs += macs_[n].AsDouble();
      if (macs_[n] > Macs(0)) {
        for (const Axes& axes : sharding.outputs) {
          for (const Axis& axis : axes) {
            for (const FactorId leaf : axes_.factors.Leaves(axis)) Of(leaf).made = true;
          }
        }
      }
      for (const Axis& axis : sharding.summed) {
        for (const FactorId leaf : axes_.factors.Leaves(axis)) {
          Candidate& candidate = Of(leaf);
          candidate.bytes += SizeOfTensor(graph_.nodes[n].outputs[0]);
          (macs_[n] > Macs(0) ? candidate.inner : candidate.looked_up) = true;
        }
      }
      for (const Axis& axis : sharding.whole) {
        for (const FactorId leaf : axes_.factors.Leaves(axis)) Of(leaf).possible = false;
      }
    }
    const std::vector<bool> caches = CachesOf(graph_, macs_);
    for (const TensorId output : graph_.outputs) {
      if (caches[static_cast<std::size_t>(output)]) continue;
      for (const Axis& axis : axes_.tensors[static_cast<std::size_t>(output)]) {
        for (const FactorId leaf : axes_.factors.Leaves(axis)) {
          Of(leaf).bytes += SizeOfTensor(output);
        }
      }
    }
  }

  double SizeOfTensor(TensorId id) const {
    if (id == kNoTensor || !At(graph_, id).type.shape) return 0;
    return SizeOf(At(graph_, id).type.dtype, At(graph_, id).type.shape->Elements()).AsDouble();
  }

  // Whether no tensor would be split along two axes, or a part of a sum stay whole.
  bool Fits(const Candidate& candidate) {
    const bool added = split_.factors.insert(candidate.factor).second;
    const auto fits = [&](std::size_t t) {
      int splits = 0;
      for (const Axis& axis : axes_.tensors[t]) {
        const Factors::Part part = axes_.factors.PartOf(axis, split_.factors, 1);
        splits += part.splits;
        if (!part.whole) return false;
      }
      return splits <= 1;
    };
    const bool all = std::all_of(candidate.tensors.begin(), candidate.tensors.end(), fits);
    if (added) split_.factors.erase(candidate.factor);
    return all;
  }

  std::string Name(const Candidate& candidate) const {
    const Tensor& weight = At(graph_, candidate.weight);
    return fmt::format("'{}' {}", Printable(weight.name), ToString(*weight.type.shape));
  }

  [[noreturn]] void ThrowOdd(const Candidate& odd, std::int64_t common) const {
    std::string would;
    for (std::int64_t ways = 2; ways <= common && ways <= 4096; ++ways) {
      if (common % ways == 0) would += fmt::format("{}tp={}", would.empty() ? "" : ", ", ways);
    }
    const std::int64_t size = axes_.factors.SizeOf({odd.factor});
    throw Error("tp={}: {} is split along an axis of {} (heads, groups or columns), {}; {}",
                devices_, Name(odd), size,
                size < devices_ ? "fewer than there are devices"
                                : fmt::format("which does not divide by {}", devices_),
                would.empty() ? "no number of devices would do" : would + " would do");
  }

  const Graph& graph_;
  const GraphAxes& axes_;
  const std::vector<Macs>& macs_;
  int devices_;
  std::map<FactorId, Candidate> candidates_;  // ordered: the same choice every time
  Split split_;
};

}  // namespace

bool GraphAxes::Splits(const Axes& of, const std::set<FactorId>& factors_of) const {
  return std::any_of(of.begin(), of.end(),
                     [&](const Axis& axis) { return Splits(axis, factors_of); });
}

GraphAxes AxesOf(Graph& graph) { return AxesBuilder(graph).Build(); }

Split ChooseSplit(const Graph& graph, const GraphAxes& axes, const std::vector<Macs>& macs,
                  int devices) {
  return Chooser(graph, axes, macs, devices).Choose();
}

}  // namespace dlcost
