#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "estimator/parallel/rank_graph.h"
#include "models/gradients/writer.h"

namespace dlcost {

// The tensors of a graph that is being written for one of several devices: how each lies on it, and
// what nodes read instead of those that lie otherwise than they need. For those who write nodes.
class RankTensors {
 protected:
  // How a tensor is on a device.
  enum class Layout { kWhole, kSplit, kSequence };
  using FactorSet = std::set<FactorId>;

  // `rank` lasts as long as this; `writer_` is set before anything is written.
  explicit RankTensors(RankGraph& rank);

  bool Splits(const Axes& axes, const FactorSet& factors) const {
    return axes_.Splits(axes, factors);
  }
  bool Splits(const Axis& axis, const FactorSet& factors) const {
    return axes_.Splits(axis, factors);
  }
  Layout LayoutOf(TensorId id) const { return layout_[static_cast<std::size_t>(id)]; }
  bool Free(TensorId id) const { return axes_.free[static_cast<std::size_t>(id)]; }
  // Whether training gives it a gradient.
  bool Differentiates(TensorId id) const;
  // The part of a tensor that lies so.
  Shape LocalShape(TensorId id, Layout layout) const;
  // The axis of a tensor along which it is divided.
  std::int64_t AxisOf(TensorId id, Layout layout) const;

  // Gives a tensor the size that it has on a device.
  void MakeLocal(TensorId id);
  // What stands for a tensor since the devices exchanged it.
  TensorId Current(TensorId id) const;
  // What a node reads instead of a tensor, made once for all that read it so: "part" (zeros of its
  // size), or an exchange by the name of its operator.
  TensorId Variant(std::string_view what, TensorId id, TensorId from, Layout layout);
  // Numbers that follow from shapes, as they are without a split.
  TensorId AsInWholeGraph(TensorId id);
  // Adds up the parts that a node leaves, or takes its part ("Shard"); who reads it reads that.
  void Exchange(TensorId partial, const char* op);

  RankGraph& rank_;
  const RankPlan& plan_;
  Graph& graph_;
  const std::vector<Macs>& macs_;
  GraphAxes& axes_;
  const FactorSet &split_, &sequence_;
  const std::vector<TensorId> untrained_;          // whatever reads them: settings of operators
  std::vector<Layout> layout_;                     // of tensors of the whole graph
  std::vector<std::optional<Shape>> whole_shape_;  // of those
  NodeWriter* writer_ = nullptr;
  std::map<TensorId, TensorId> current_;  // the sums of parts

 private:
  const FactorSet& SetOf(Layout layout) const;
  std::vector<Attribute> Attributes(std::optional<std::int64_t> axis, bool parameter = false) const;
  TensorId Written(std::string_view op, TensorId id, std::vector<Attribute> attributes);

  std::map<std::pair<std::string, TensorId>, TensorId> variants_;
};

}  // namespace dlcost
