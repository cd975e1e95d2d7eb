#include <fmt/format.h>

#include <tuple>
#include <unordered_map>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/parallel/layout.h"
#include "estimator/parallel/step_profile.h"

namespace dlcost {
namespace {

class AnnotatedSplit {
 public:
  AnnotatedSplit(const Graph& graph, const GraphAxes& axes, int devices)
      : graph_(graph), axes_(axes), devices_(devices) {
    for (std::size_t t = 0; t < graph.tensors.size(); ++t) tensors_[graph.tensors[t].name] = t;
  }

  Split Read(const DeviceConfiguration& annotations) {
    for (const AnnotatedAxis& each : annotations.axes) Add(each);
    CheckTensors();
    CheckNodes();
    for (const AnnotatedAxis& each : annotations.axes) CheckAxis(each);
    for (const AnnotatedAxis& each : annotations.whole) CheckWhole(each);
    return std::move(split_);
  }

 private:
  std::size_t TensorOf(const AnnotatedAxis& each) const {
    const auto found = tensors_.find(each.tensor);
    if (found == tensors_.end()) {
      throw Error("{}: annotations split '{}', which the graph does not have", Printable(each.node),
                  Printable(each.tensor));
    }
    return found->second;
  }

  const Axis& AxisOf(const AnnotatedAxis& each) const {
    const Axes& axes = axes_.tensors[TensorOf(each)];
    const auto rank = static_cast<std::int64_t>(axes.size());
    const std::int64_t at = each.axis < 0 ? each.axis + rank : each.axis;
    if (at < 0 || at >= rank) {
      throw Error("{}: annotations split axis {} of '{}', which has {}", Printable(each.node),
                  each.axis, Printable(each.tensor), rank);
    }
    return axes[static_cast<std::size_t>(at)];
  }

  // The outermost factor that divides, of every part of a sum.
  void Take(const Axis& axis, const AnnotatedAxis& each) {
    const Factors& factors = axes_.factors;
    for (const FactorId term : factors.Terms(axis)) {
      const std::vector<Axis> parts = factors.PartsOf(term);
      if (!parts.empty()) {
        for (const Axis& part : parts) Take(part, each);
        return;
      }
      if (factors.blocked(term) || factors.SizeOf({term}) % devices_ != 0) continue;
      split_.factors.insert(term);
      return;
    }
    throw Error(
        "{}: '{}' is annotated to be split along axis {}, whose {} do not divide among {} "
        "devices",
        Printable(each.node), Printable(each.tensor), each.axis, factors.SizeOf(axis), devices_);
  }

  void Add(const AnnotatedAxis& each) {
    const Axis& axis = AxisOf(each);
    if (each.shards != devices_) {
      throw Error("{}: '{}' is annotated with {} shards, others with {}; all the same would do",
                  Printable(each.node), Printable(each.tensor), each.shards, devices_);
    }
    if (axes_.factors.PartOf(axis, split_.factors, devices_).splits == 0) Take(axis, each);
  }

  int SplitsOf(const Axes& axes, bool* whole = nullptr) const {
    int splits = 0;
    for (const Axis& axis : axes) {
      const Factors::Part part = axes_.factors.PartOf(axis, split_.factors, devices_);
      splits += part.splits;
      if (whole != nullptr) *whole = *whole && part.whole && part.even;
    }
    return splits;
  }

  void CheckTensors() const {
    for (std::size_t t = 0; t < axes_.tensors.size(); ++t) {
      bool whole = true;
      const int splits = SplitsOf(axes_.tensors[t], &whole);
      if (splits <= 1 && whole) continue;
      throw Error("annotations contradict each other: together they split '{}' {}",
                  Printable(graph_.tensors[t].name),
                  splits > 1 ? "along two axes" : "in part or into unequal parts");
    }
  }

  void CheckNodes() const {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!axes_.nodes[n]) continue;
      for (const Axis& axis : axes_.nodes[n]->whole) {
        if (SplitsOf({axis}) == 0) continue;
        throw Error("annotations split an axis that {} ({}) needs whole",
                    Printable(graph_.nodes[n].name), graph_.nodes[n].op);
      }
    }
  }

  void CheckAxis(const AnnotatedAxis& each) const {
    if (SplitsOf({AxisOf(each)}) == 1) return;
    throw Error("annotations contradict each other: '{}' is not split along axis {} by the others",
                Printable(each.tensor), each.axis);
  }

  // What sums of parts leave is whole, although an annotation may stand before the sum.
  void CheckWhole(const AnnotatedAxis& each) const {
    const std::size_t tensor = TensorOf(each);
    if (SplitsOf(axes_.tensors[tensor]) == 0) return;
    throw Error("annotations contradict each other: {} has '{}' whole, and others split it",
                Printable(each.node), Printable(each.tensor));
  }

  const Graph& graph_;
  const GraphAxes& axes_;
  int devices_;
  std::unordered_map<std::string, std::size_t> tensors_;
  Split split_;
};

}  // namespace

Split SplitAsAnnotated(const Graph& graph, const GraphAxes& axes,
                       const DeviceConfiguration& annotations, int devices) {
  return AnnotatedSplit(graph, axes, devices).Read(annotations);
}

std::vector<int> AnnotatedStages(const InferredModel& model, const StepProfile& profile,
                                 const DeviceConfiguration& annotations) {
  std::unordered_map<TensorId, std::pair<int, const CountedNode*>> made;  // in which stage, by whom
  std::unordered_map<std::string, int> stage_of;
  for (const CountedNode& counted : model.nodes) {
    if (counted.graph != &model.model->graph || counted.node->outputs.empty()) continue;
    int stage = 0;
    const CountedNode* latest = nullptr;
    ForEachRead(*counted.node, [&](TensorId id) {
      const auto from = made.find(id);
      if (from == made.end() || from->second.first < stage) return;
      std::tie(stage, latest) = from->second;
    });
    const TensorId output = counted.node->outputs[0];
    const auto given = output == kNoTensor || counted.node->phase != Phase::kForward
                           ? annotations.stage_of.end()
                           : annotations.stage_of.find(
                                 model.model->graph.tensors[static_cast<std::size_t>(output)].name);
    if (given != annotations.stage_of.end()) {
      if (given->second < stage) {
        throw Error(
            "annotations go round in a circle: {} of pipeline stage {} reads what {} of stage "
            "{} makes",
            Printable(counted.name), given->second, Printable(latest->name), stage);
      }
      stage = given->second;
    }
    stage_of[counted.name] = stage;
    if (counted.node->phase != Phase::kForward) continue;
    for (const TensorId id : counted.node->outputs) {
      if (id != kNoTensor) made[id] = {stage, &counted};
    }
  }
  std::vector<int> stages;
  for (const StepKernel& kernel : profile.kernels) stages.push_back(stage_of[kernel.name]);
  return stages;
}

}  // namespace dlcost
