#include "estimator/infer/run_values.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/core/spelling.h"
#include "estimator/infer/typical.h"

namespace dlcost {
namespace {

// Whether `name` matches `pattern`, in which `*` stands for any text.
bool Matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, from = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++from;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

Tensor& OutputOf(Graph& graph, const Node& node, std::size_t output) {
  return graph.tensors[static_cast<std::size_t>(node.outputs[output])];
}

// Whether inference left something of the output to the run.
bool IsOpen(const Tensor& tensor) { return tensor.upper_bound || !tensor.type.shape; }

ValuePtr ToValue(const Tensor& tensor, const RunBinding& binding,
                 const std::vector<double>& elements) {
  if (IsFloat(tensor.type.dtype)) return std::make_shared<const Value>(elements);
  std::vector<std::int64_t> ints;
  for (const double element : elements) {
    // 2^53: every integer below is exact as a real.
    if (element != std::floor(element) || std::abs(element) > 9007199254740992.0) {
      throw Error("--at {}: {} is no integer", Printable(binding.text), element);
    }
    ints.push_back(Truncate(element));
  }
  return std::make_shared<const Value>(std::move(ints));
}

std::string FactNode(const std::string& name, std::size_t output) {
  return output == 0 ? name : fmt::format("{}:{}", name, output);
}

}  // namespace

std::optional<std::size_t> OpenAxis(const Graph& graph, const Node& node, std::size_t output) {
  const Tensor& tensor = graph.tensors[static_cast<std::size_t>(node.outputs[output])];
  // A known value of unknown exactness, as Shape hands on, has a size of its own all the same.
  if (!tensor.upper_bound || !tensor.type.shape || tensor.value != nullptr) return std::nullopt;
  const Shape& shape = *tensor.type.shape;
  if (shape.rank() == 1) return 0;
  if (node.op == "NonZero" && shape.rank() == 2) return 1;  // [rank, n]
  if (node.op == "NonMaxSuppression") return 0;             // [n, 3]
  const bool along_axis = node.op == "Compress" || (node.op == "Unique" && output == 0);
  const auto* axis = node.FindAttribute("axis");
  if (along_axis && axis != nullptr && std::get_if<std::int64_t>(axis) != nullptr) {
    return NormalizeAxis(std::get<std::int64_t>(*axis), shape.rank());
  }
  return std::nullopt;
}

RunValues::RunValues(const std::vector<RunBinding>& bindings, bool assume)
    : bindings_(bindings), assume_(assume), used_(bindings.size()) {
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    // A later one overrides.
    exact_[bindings[i].target] = i;
    if (bindings[i].target.find('*') != std::string::npos) patterns_.push_back(i);
  }
}

// By the tensor's name, the node's, or the node's with the number of the output; of a node with
// several outputs, the node alone names the first one that the run decides.
const RunBinding* RunValues::Find(const Node& node, const std::string& name,
                                  const std::string& prefix, const Graph& graph,
                                  std::size_t output) {
  const std::string& tensor = graph.tensors[static_cast<std::size_t>(node.outputs[output])].name;
  std::vector<std::string> names = {tensor, fmt::format("{}:{}", name, output)};
  if (!prefix.empty()) names.push_back(prefix + tensor);
  std::size_t first = 0;
  for (std::size_t i = node.outputs.size(); i-- > 0;) {
    if (node.outputs[i] != kNoTensor &&
        IsOpen(graph.tensors[static_cast<std::size_t>(node.outputs[i])])) {
      first = i;
    }
  }
  if (output == first) names.push_back(name);
  known_names_.insert(names.begin(), names.end());
  for (const std::string& candidate : names) {
    const auto found = exact_.find(candidate);
    if (found == exact_.end()) continue;
    used_[found->second] = true;
    return &bindings_[found->second];
  }
  // A pattern means nodes: the names of tensors repeat theirs, with more behind.
  for (const std::size_t i : patterns_) {
    const bool whole = output == first && Matches(bindings_[i].target, name);
    if (!whole && !Matches(bindings_[i].target, names[1])) continue;
    used_[i] = true;
    return &bindings_[i];
  }
  return nullptr;
}

void RunValues::Apply(Graph& graph, const Node& node, const std::string& name,
                      const std::string& prefix) {
  settled_.clear();
  if (bindings_.empty() && !assume_) return;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoTensor) continue;
    const RunBinding* binding = bindings_.empty() ? nullptr : Find(node, name, prefix, graph, i);
    if (binding != nullptr) {
      Bind(graph, node, name, i, *binding);
    } else if (assume_) {
      Assume(graph, node, name, i);
    }
  }
}

void RunValues::Bind(Graph& graph, const Node& node, const std::string& name, std::size_t output,
                     const RunBinding& binding) {
  Tensor& tensor = OutputOf(graph, node, output);
  const std::string option = "--at " + Printable(binding.text);
  const bool is_pattern = binding.target.find('*') != std::string::npos;
  const bool is_share = std::get_if<RunBinding::Share>(&binding.what) != nullptr;
  if (is_pattern && (is_share ? !OpenAxis(graph, node, output) : !IsOpen(tensor))) return;
  if (tensor.value != nullptr) throw Error("{}: its value follows from what is known", option);
  const std::optional<Shape> before = tensor.type.shape;
  const bool open =
      IsOpen(tensor) || std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId id) {
        return id != kNoTensor && graph.tensors[static_cast<std::size_t>(id)].upper_bound;
      });
  std::string what;
  if (const auto* values = std::get_if<RunBinding::Values>(&binding.what)) {
    const auto count = static_cast<std::int64_t>(values->elements.size());
    if (!before) {
      SetShape(graph, node, output, Shape{count});
    } else if (const auto axis = OpenAxis(graph, node, output);
               axis && before->Elements() != Count(count)) {
      const std::int64_t extent = (*before)[*axis];
      const Count rest = extent == 0 ? Count(1) : before->Elements() / Count(extent);
      Shape shape = *before;
      shape[*axis] = rest == Count(0) ? 0 : (Count(count) / rest).value();
      if (shape.Elements() != Count(count) || shape[*axis] > extent) {
        throw Error("{}: {} values for a tensor of at most {}", option, count, ToString(*before));
      }
      SetShape(graph, node, output, std::move(shape));
    } else if (before->Elements() != Count(count)) {
      throw Error("{}: {} values for a tensor of shape {}", option, count, ToString(*before));
    } else if (open) {
      SetShape(graph, node, output, *before);
    }
    if (count <= kMaxValueElements) tensor.value = ToValue(tensor, binding, values->elements);
    what = count <= 8 ? fmt::format("the value [{}]", fmt::join(values->elements, ","))
                      : fmt::format("{} values", count);
  } else if (const auto* share = std::get_if<RunBinding::Share>(&binding.what)) {
    const auto axis = OpenAxis(graph, node, output);
    if (!axis) {
      throw Error("{}: {}", option,
                  open ? "give a shape; which axis depends on data, and how large it may be, is "
                         "not known here"
                       : "its shape is " + ToString(*before) + ", whatever the data is");
    }
    Shape shape = *before;
    shape[*axis] = RoundToInteger(share->fraction * static_cast<double>(shape[*axis]));
    SetShape(graph, node, output, std::move(shape));
  } else {
    const Shape& shape = std::get<Shape>(binding.what);
    if (before && !open && shape != *before) {
      throw Error("{}: its shape is {}, whatever the data is", option, ToString(*before));
    }
    const bool fits =
        !before || std::equal(shape.begin(), shape.end(), before->begin(), before->end(),
                              [](std::int64_t size, std::int64_t most) { return size <= most; });
    if (!fits) throw Error("{}: its shape is at most {}", option, ToString(*before));
    shape.Elements();  // throws when there are too many
    SetShape(graph, node, output, shape);
  }
  if (what.empty()) {
    what = ToString(*tensor.type.shape);
    if (before && open) what += " of at most " + ToString(*before);
  }
  if (tensor.type.dtype == DType::kUndefined) {
    // An operator that nobody defined: most hand on the type that they get.
    for (const TensorId id : node.inputs) {
      if (id == kNoTensor) continue;
      tensor.type.dtype = graph.tensors[static_cast<std::size_t>(id)].type.dtype;
      what += fmt::format(", {} like its input", Name(tensor.type.dtype));
      break;
    }
  }
  const bool assumed = !binding.assumed_because.empty();
  if (assumed) assumed_nodes_.insert(name);
  if (!noted_.insert(FactNode(name, output)).second) return;
  (assumed ? assumed_ : bound_)
      .push_back({FactNode(name, output), what,
                  assumed ? binding.assumed_because : "--at " + binding.text});
}

// The sizes that a node leaves open are one size: Unique has as many first positions and counts as
// it has elements.
void RunValues::SetShape(Graph& graph, const Node& node, std::size_t output, Shape shape) {
  Tensor& tensor = OutputOf(graph, node, output);
  const std::optional<std::size_t> axis = OpenAxis(graph, node, output);
  if (axis) {
    const std::int64_t most = (*tensor.type.shape)[*axis];
    for (std::size_t other = 0; other < node.outputs.size(); ++other) {
      if (other == output || node.outputs[other] == kNoTensor) continue;
      const auto same = OpenAxis(graph, node, other);
      Tensor& twin = OutputOf(graph, node, other);
      if (!same || (*twin.type.shape)[*same] != most) continue;
      (*twin.type.shape)[*same] = shape[*axis];
      twin.upper_bound = false;
      settled_.emplace_back(&graph, node.outputs[other]);
    }
  }
  tensor.type.shape = std::move(shape);
  tensor.upper_bound = false;
  settled_.emplace_back(&graph, node.outputs[output]);
}

void RunValues::Assume(Graph& graph, const Node& node, const std::string& name,
                       std::size_t output) {
  const auto axis = OpenAxis(graph, node, output);
  if (!axis || skipped_.count(name) != 0) return;
  const Shape before = *OutputOf(graph, node, output).type.shape;
  const auto typical = TypicalOutput(graph, node, before[*axis]);
  if (!typical) return;
  Shape shape = before;
  shape[*axis] = std::min(typical->size, before[*axis]);
  const std::string what = ToString(shape) + " of at most " + ToString(before);
  SetShape(graph, node, output, std::move(shape));
  assumed_nodes_.insert(name);
  last_assumed_ = name;
  if (noted_.insert(FactNode(name, output)).second) {
    assumed_.push_back({FactNode(name, output), what, typical->reason});
  }
}

void RunValues::Settle(Graph& graph, const Node& node) {
  if (settled_.empty()) return;
  for (const auto& [where, id] : settled_) {
    if (where != &graph) continue;
    if (std::find(node.outputs.begin(), node.outputs.end(), id) == node.outputs.end()) continue;
    graph.tensors[static_cast<std::size_t>(id)].upper_bound = false;
  }
  settled_.clear();
}

void RunValues::CheckUsed(const Model& model) const {
  for (std::size_t i = 0; i < bindings_.size(); ++i) {
    if (used_[i]) continue;
    const std::string& target = bindings_[i].target;
    const auto overriding = exact_.find(target);
    if (overriding != exact_.end() && overriding->second != i) continue;
    for (const TensorId id : model.graph.inputs) {
      if (model.graph.tensors[static_cast<std::size_t>(id)].name != target) continue;
      throw Error("--at {}: '{}' is an input; bind it with --input or --value",
                  Printable(bindings_[i].text), Printable(target));
    }
    throw Error("--at {}: there is no such node or tensor{}", Printable(bindings_[i].text),
                DidYouMean(target, {known_names_.begin(), known_names_.end()}));
  }
}

}  // namespace dlcost
