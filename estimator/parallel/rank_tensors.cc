#include "estimator/parallel/rank_tensors.h"

#include <algorithm>

#include "estimator/infer/edit.h"
#include "estimator/infer/parameters.h"

namespace dlcost {
namespace {

constexpr std::string_view kDomain = "dlcost.parallel";

}  // namespace

RankTensors::RankTensors(RankGraph& rank)
    : rank_(rank),
      plan_(rank.plan),
      graph_(rank.model.graph),
      macs_(rank.macs),
      axes_(rank.axes),
      split_(rank.split),
      sequence_(rank.sequence),
      untrained_(Untrained(graph_)) {
  layout_.assign(graph_.tensors.size(), Layout::kWhole);
  for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
    if (Splits(axes_.tensors[t], split_)) layout_[t] = Layout::kSplit;
    whole_shape_.push_back(graph_.tensors[t].type.shape);
  }
}

const RankTensors::FactorSet& RankTensors::SetOf(Layout layout) const {
  static const FactorSet kNone;
  return layout == Layout::kSplit ? split_ : layout == Layout::kSequence ? sequence_ : kNone;
}

Shape RankTensors::LocalShape(TensorId id, Layout layout) const {
  const auto t = static_cast<std::size_t>(id);
  Shape shape = *whole_shape_[t];
  if (layout == Layout::kWhole) return shape;
  for (std::size_t a = 0; a < shape.rank() && a < axes_.tensors[t].size(); ++a) {
    shape[a] = axes_.factors.PartOf(axes_.tensors[t][a], SetOf(layout), plan_.devices).size;
  }
  return shape;
}

std::int64_t RankTensors::AxisOf(TensorId id, Layout layout) const {
  const Axes& axes = axes_.tensors[static_cast<std::size_t>(id)];
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (Splits(axes[a], SetOf(layout))) return static_cast<std::int64_t>(a);
  }
  return 0;
}

bool RankTensors::Differentiates(TensorId id) const {
  const auto t = static_cast<std::size_t>(id);
  return plan_.trains && !axes_.free[t] && IsFloat(graph_.tensors[t].type.dtype) &&
         !std::binary_search(untrained_.begin(), untrained_.end(), id);
}

void RankTensors::MakeLocal(TensorId id) {
  const auto t = static_cast<std::size_t>(id);
  Tensor& tensor = graph_.tensors[t];
  if (!whole_shape_[t] || layout_[t] == Layout::kWhole) return;
  const Shape local = LocalShape(id, layout_[t]);
  if (local != *whole_shape_[t]) BecomePart(tensor, local);
}

std::vector<Attribute> RankTensors::Attributes(std::optional<std::int64_t> axis,
                                               bool parameter) const {
  std::vector<Attribute> attributes;
  if (axis) attributes.push_back(IntAttribute("axis", *axis));
  attributes.push_back(IntAttribute("devices", plan_.devices));
  if (plan_.stride > 1) attributes.push_back(IntAttribute("stride", plan_.stride));
  // Gradients of parameters may wait for each other and be sent at once.
  if (parameter) attributes.push_back(IntAttribute("parameter", 1));
  return attributes;
}

TensorId RankTensors::Written(std::string_view op, TensorId id, std::vector<Attribute> attributes) {
  return writer_->Nodes(op, kDomain, {id}, std::move(attributes), 1)[0];
}

TensorId RankTensors::Variant(std::string_view what, TensorId id, TensorId from, Layout layout) {
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

TensorId RankTensors::Current(TensorId id) const {
  const auto known = current_.find(id);
  return known == current_.end() ? id : known->second;
}

TensorId RankTensors::AsInWholeGraph(TensorId id) {
  const Tensor& tensor = graph_.tensors[static_cast<std::size_t>(id)];
  const bool ints = tensor.value != nullptr && tensor.value->is_integer() &&
                    tensor.type.dtype == DType::kInt64 && tensor.type.shape &&
                    tensor.type.shape->rank() == 1;
  return ints ? writer_->Ints(std::vector<std::int64_t>(tensor.value->ints())) : id;
}

void RankTensors::Exchange(TensorId partial, const char* op) {
  if (std::string_view(op) == "Shard") {
    current_[partial] = Written(op, partial, Attributes(AxisOf(partial, Layout::kSplit)));
    return;
  }
  const bool scatter = std::string_view(op) == "ReduceScatter";
  current_[partial] =
      Written(op, partial,
              scatter ? Attributes(AxisOf(partial, Layout::kSequence)) : Attributes(std::nullopt));
  if (scatter) layout_[static_cast<std::size_t>(partial)] = Layout::kSequence;
}

}  // namespace dlcost
