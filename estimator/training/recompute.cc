#include "estimator/training/recompute.h"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>

#include "estimator/core/error.h"
#include "estimator/training/bodies.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

constexpr std::int32_t kKept = -1;  // a node whose outputs stay

bool EndsWithIndex(std::string_view component) {
  const std::size_t digits = component.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
  return digits < component.size() && (digits == 0 || component[digits - 1] == '.');
}

bool IsPointwise(const Node& node) {
  const OpDef* def = FindOperator(node.domain, node.op);
  if (def == nullptr) return false;
  switch (def->role) {
    case FusionRole::kElementwise:
    case FusionRole::kReduction:
    case FusionRole::kNormalization:
    case FusionRole::kMovement:
      return true;
    default:
      return false;
  }
}

constexpr std::string_view kSelective = "selective:";
constexpr std::string_view kPointwise = "pointwise";

// One of the patterns, with commas between, is that of the node's name, module or operator, or
// "pointwise" and the node is.
bool Matches(std::string_view patterns, const Node& node) {
  for (std::size_t begin = 0; begin <= patterns.size();) {
    const std::size_t end = std::min(patterns.find(',', begin), patterns.size());
    const std::string each(patterns.substr(begin, end - begin));
    if (each == kPointwise && IsPointwise(node)) return true;
    for (const std::string* text : {&node.name, &node.scope, &node.op}) {
      if (fnmatch(each.c_str(), text->c_str(), 0) == 0) return true;
    }
    begin = end + 1;
  }
  return false;
}

// Of a node and of all inside, whose graphs are its own.
void SetPhase(Node& node, Phase phase) {
  node.phase = phase;
  ForEachBody(node, [&](std::shared_ptr<Graph>& body) {
    body = std::make_shared<Graph>(*body);
    for (Node& inner : body->nodes) SetPhase(inner, phase);
  });
}

class Recomputer {
 public:
  explicit Recomputer(NodeWriter& writer)
      : w_(writer),
        segment_(writer.graph().nodes.size(), kKept),
        producer_(writer.graph().tensors.size(), kNone) {
    const std::vector<Node>& nodes = w_.graph().nodes;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (nodes[n].phase != Phase::kForward) continue;
      for (const TensorId id : nodes[n].outputs) {
        if (id != kNoTensor) producer_[Index(id)] = n;
      }
    }
  }

  void ByScopes(std::optional<std::size_t> first) {
    const std::vector<std::string> modules = RepeatedModules(w_.graph());
    if (modules.empty()) {
      throw Error("--recompute scopes: no module of the model has an index; see --recompute full");
    }
    if (first && (*first < 1 || *first > modules.size())) {
      throw Error("--recompute scopes:{}: the model has 1 to {} modules with an index", *first,
                  modules.size());
    }
    std::map<std::string, std::int32_t> numbers;
    for (std::size_t m = 0; m < modules.size() && m < first.value_or(modules.size()); ++m) {
      numbers.emplace(modules[m], static_cast<std::int32_t>(m));
    }
    ForEachForward([&](std::size_t n, const Node& node) {
      const auto found = numbers.find(ModuleOf(node.scope));
      if (found != numbers.end()) segment_[n] = found->second;
    });
    Run(true);
  }

  // Alone where `whole` is false: whoever else is needed is looked for on the way.
  void ByPattern(const std::string& pattern) {
    bool any = false;
    ForEachForward([&](std::size_t n, const Node& node) {
      if (!Matches(pattern, node)) return;
      any = true;
      segment_[n] = static_cast<std::int32_t>(n);
    });
    // A view of what is dropped would keep it.
    ForEachForward([&](std::size_t n, const Node& node) {
      const OpDef* def = FindOperator(node.domain, node.op);
      if (segment_[n] != kKept || def == nullptr || def->role != FusionRole::kView) return;
      if (SegmentOf(node.inputs[0]) != kKept) segment_[n] = static_cast<std::int32_t>(n);
    });
    if (!any) throw Error("--recompute selective:{} matches no node", Printable(pattern));
    Run(false);
  }

  // The number of stretches, of equal weight in saved bytes, for which what lasts and the largest
  // stretch take the least.
  void InStretches() {
    std::vector<std::size_t> forward;
    ForEachForward([&](std::size_t n, const Node&) { forward.push_back(n); });
    const std::vector<bool> read = ReadBehind();
    std::vector<Bytes> saved(forward.size());
    Bytes all;
    for (std::size_t i = 0; i < forward.size(); ++i) {
      for (const TensorId id : w_.graph().nodes[forward[i]].outputs) {
        if (id != kNoTensor && read[Index(id)]) saved[i] += SizeOfTensor(id);
      }
      all += saved[i];
    }
    Bytes best(std::numeric_limits<std::int64_t>::max());
    std::vector<std::int32_t> chosen;
    for (std::int64_t count = 1; count <= std::min<std::int64_t>(kMostStretches, all.value());
         ++count) {
      std::vector<std::int32_t> stretch(forward.size());
      std::vector<Bytes> inside(static_cast<std::size_t>(count));
      Bytes before;
      for (std::size_t i = 0; i < forward.size(); ++i) {
        const auto s = std::min(count - 1, (before.count() * count / all.count()).value());
        stretch[i] = static_cast<std::int32_t>(s);
        before += saved[i];
        inside[static_cast<std::size_t>(s)] += saved[i];
        segment_[forward[i]] = stretch[i];
      }
      const Bytes total = Border() + *std::max_element(inside.begin(), inside.end());
      if (total >= best) continue;
      best = total;
      chosen = std::move(stretch);
    }
    for (std::size_t i = 0; i < chosen.size(); ++i) segment_[forward[i]] = chosen[i];
    Run(true);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr std::int64_t kMostStretches = 64;

  Tensor& At(TensorId id) { return w_.graph().tensors[Index(id)]; }
  static bool IsBackward(const Node& node) {
    return node.phase == Phase::kBackwardData || node.phase == Phase::kBackwardWeights;
  }

  Bytes SizeOfTensor(TensorId id) {
    const Tensor& tensor = At(id);
    if (tensor.foldable || !tensor.type.shape) return Bytes(0);
    return SizeOf(tensor.type.dtype, tensor.type.shape->Elements());
  }

  // Forward nodes whose results exist at run time.
  template <typename Visit>
  void ForEachForward(Visit visit) {
    for (std::size_t n = 0; n < segment_.size(); ++n) {
      const Node& node = w_.graph().nodes[n];
      if (node.phase != Phase::kForward) continue;
      const bool known = std::all_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) {
        return id == kNoTensor || At(id).foldable;
      });
      if (!known) visit(n, node);
    }
  }

  std::int32_t SegmentOf(TensorId id) const {
    const std::size_t n = Index(id) < producer_.size() ? producer_[Index(id)] : kNone;
    return n == kNone ? kKept : segment_[n];
  }

  // What the backward pass reads.
  std::vector<bool> ReadBehind() {
    std::vector<bool> read(w_.graph().tensors.size(), false);
    for (const Node& node : w_.graph().nodes) {
      if (!IsBackward(node)) continue;
      ForEachRead(node, [&](TensorId id) { read[Index(id)] = true; });
    }
    return read;
  }

  // What another stretch, or the loss, reads.
  std::vector<bool> ReadOutside() {
    std::vector<bool> outside(w_.graph().tensors.size(), false);
    for (std::size_t n = 0; n < segment_.size(); ++n) {
      const Node& node = w_.graph().nodes[n];
      if (IsBackward(node)) continue;
      ForEachRead(node, [&](TensorId id) {
        if (SegmentOf(id) != kKept && SegmentOf(id) != segment_[n]) outside[Index(id)] = true;
      });
    }
    for (const TensorId id : w_.graph().outputs) outside[Index(id)] = true;
    return outside;
  }

  Bytes Border() {
    Bytes bytes;
    const std::vector<bool> outside = ReadOutside();
    for (std::size_t t = 0; t < outside.size(); ++t) {
      if (outside[t]) bytes += SizeOfTensor(static_cast<TensorId>(t));
    }
    return bytes;
  }

  // `whole`: a segment is computed at once, from what comes in; else node by node, as needed, and
  // everything that the nodes write is dropped.
  void Run(bool whole) {
    dropped_.assign(w_.graph().tensors.size(), false);
    const std::vector<bool> outside =
        whole ? ReadOutside() : std::vector<bool>(w_.graph().tensors.size(), false);
    for (std::size_t t = 0; t < dropped_.size(); ++t) {
      const auto id = static_cast<TensorId>(t);
      dropped_[t] = SegmentOf(id) != kKept && !outside[t] && !At(id).foldable;
    }
    for (const TensorId id : w_.graph().outputs) dropped_[Index(id)] = false;
    const std::map<std::int32_t, std::vector<TensorId>> needed =
        whole ? NeededBySegment() : decltype(needed)();
    again_.assign(w_.graph().tensors.size(), kNoTensor);
    copied_.assign(segment_.size(), false);
    std::vector<Node> nodes = std::move(w_.graph().nodes);
    nodes_ = &nodes;
    w_.graph().nodes.clear();
    for (std::size_t n = 0; n < segment_.size(); ++n) {
      if (IsBackward(nodes[n])) {
        const auto replace = [&](TensorId id) {
          if (id == kNoTensor || Index(id) >= dropped_.size() || !dropped_[Index(id)]) return id;
          if (again_[Index(id)] == kNoTensor) {
            const auto all = needed.find(SegmentOf(id));
            if (all != needed.end()) {
              for (const TensorId each : all->second) Make(each);
            } else {
              Make(id);
            }
          }
          return again_[Index(id)];
        };
        for (TensorId& id : nodes[n].inputs) id = replace(id);
        ReplaceCaptures(nodes[n], replace);
        w_.graph().nodes.push_back(std::move(nodes[n]));
      } else {
        w_.graph().nodes.push_back(nodes[n]);  // may be written once more
      }
    }
  }

  std::map<std::int32_t, std::vector<TensorId>> NeededBySegment() {
    std::map<std::int32_t, std::vector<TensorId>> needed;
    const std::vector<bool> read = ReadBehind();
    for (std::size_t t = 0; t < dropped_.size(); ++t) {
      if (dropped_[t] && read[t]) {
        needed[SegmentOf(static_cast<TensorId>(t))].push_back(static_cast<TensorId>(t));
      }
    }
    return needed;
  }

  // Writes the node that makes a dropped value once more, and first those that make what it reads.
  // Iterative: chains of dropped values may be long.
  void Make(TensorId wanted) {
    std::vector<std::size_t> stack = {producer_[Index(wanted)]};
    while (!stack.empty()) {
      const std::size_t n = stack.back();
      if (copied_[n]) {
        stack.pop_back();
        continue;
      }
      bool ready = true;
      ForEachRead((*nodes_)[n], [&](TensorId id) {
        if (!dropped_[Index(id)] || again_[Index(id)] != kNoTensor) return;
        stack.push_back(producer_[Index(id)]);
        ready = false;
      });
      if (!ready) continue;
      stack.pop_back();
      copied_[n] = true;
      WriteAgain((*nodes_)[n]);
    }
  }

  void WriteAgain(const Node& node) {
    Node copy = node;
    copy.name = w_.UniqueNode(node.name + "/again");
    for (TensorId& id : copy.inputs) {
      if (id != kNoTensor && dropped_[Index(id)]) id = again_[Index(id)];
    }
    ReplaceCaptures(copy,
                    [&](TensorId id) { return dropped_[Index(id)] ? again_[Index(id)] : id; });
    SetPhase(copy, Phase::kRecompute);
    for (TensorId& id : copy.outputs) {
      if (id == kNoTensor) continue;
      if (!dropped_[Index(id)] && node.op == "BatchNormInternal") {
        id = kNoTensor;  // running statistics move once per step
        continue;
      }
      const TensorId again = w_.Copy(id);
      again_[Index(id)] = again;
      id = again;
    }
    while (!copy.outputs.empty() && copy.outputs.back() == kNoTensor) copy.outputs.pop_back();
    w_.graph().nodes.push_back(std::move(copy));
  }

  NodeWriter& w_;
  std::vector<std::int32_t> segment_;  // per node: what it is computed again with
  std::vector<std::size_t> producer_;  // per tensor: its forward node
  std::vector<bool> dropped_;          // per tensor
  std::vector<TensorId> again_;        // per tensor: its copy
  std::vector<bool> copied_;           // per node
  std::vector<Node>* nodes_ = nullptr;
};

}  // namespace

bool IsSelected(const std::string& what, const Node& node) {
  if (what.compare(0, kSelective.size(), kSelective) != 0) return false;
  const std::string_view patterns = std::string_view(what).substr(kSelective.size());
  return patterns.substr(0, kPointwise.size()) != kPointwise && Matches(patterns, node);
}

std::string ModuleOf(const std::string& scope) {
  for (std::size_t begin = 0; begin < scope.size();) {
    const std::size_t end = std::min(scope.find('/', begin), scope.size());
    if (EndsWithIndex(std::string_view(scope).substr(begin, end - begin))) {
      return scope.substr(0, end);
    }
    begin = end + 1;
  }
  return "";
}

std::vector<std::string> RepeatedModules(const Graph& graph) {
  std::vector<std::string> modules;
  for (const Node& node : graph.nodes) {
    if (node.phase != Phase::kForward) continue;
    const std::string module = ModuleOf(node.scope);
    if (module.empty()) continue;
    if (std::find(modules.begin(), modules.end(), module) == modules.end()) {
      modules.push_back(module);
    }
  }
  return modules;
}

void Recompute(NodeWriter& writer, const std::string& what) {
  if (what == "none") return;
  Recomputer recomputer(writer);
  const std::size_t colon = what.find(':');
  const std::string form = what.substr(0, colon);
  const std::string detail = colon == std::string::npos ? "" : what.substr(colon + 1);
  if (form == "scopes") {
    std::optional<std::size_t> first;
    if (colon != std::string::npos) {
      std::size_t number = 0;
      const auto [end, error] =
          std::from_chars(detail.data(), detail.data() + detail.size(), number);
      if (error != std::errc() || end != detail.data() + detail.size()) {
        throw Error("--recompute scopes:{} wants a number of modules", Printable(detail));
      }
      first = number;
    }
    recomputer.ByScopes(first);
  } else if (what == "full") {
    recomputer.InStretches();
  } else if (form == "selective" && !detail.empty()) {
    recomputer.ByPattern(detail);
  } else {
    throw Error("--recompute '{}' is not one of none, scopes, scopes:K, full, selective:PATTERN",
                Printable(what));
  }
}

}  // namespace dlcost
