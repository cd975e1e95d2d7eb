#include "estimator/report/certainty.h"

#include <algorithm>
#include <unordered_map>

namespace dlcost {
namespace {

void Accumulate(Doubt::Part& into, const Doubt::Part& what) {
  into.nodes += what.nodes;
  into.macs += what.macs;
  into.flops += what.flops;
  into.bytes += what.bytes;
  into.time += what.time;
  into.expected += what.expected;
}

Standing StandingOf(bool at_most, bool at_least, bool assumed) {
  if (assumed || (at_most && at_least)) return Standing::kAbout;
  if (at_most) return Standing::kAtMost;
  return at_least ? Standing::kAtLeast : Standing::kExact;
}

bool IsCounted(const CountedNode& node) {
  return node.status == NodeStatus::kCounted || node.status == NodeStatus::kBounded;
}

// Follows upper bounds back to where they begin. Nodes come in execution order, so that whatever a
// node reads was seen before it.
class CauseFinder {
 public:
  CauseFinder(const InferredModel& model, const Convention& convention)
      : model_(model), convention_(convention) {
    for (const Subgraph& subgraph : model.subgraphs) subgraphs_[subgraph.graph.get()] = &subgraph;
  }

  std::vector<Certainty::Cause> Run() {
    for (const CountedNode& node : model_.nodes) {
      if (node.upper_bound) Add(node);
    }
    std::erase_if(causes_, [](const Certainty::Cause& cause) { return cause.nodes == 0; });
    std::stable_sort(causes_.begin(), causes_.end(), [](const auto& a, const auto& b) {
      if (a.macs != b.macs) return a.macs > b.macs;
      if (a.flops != b.flops) return a.flops > b.flops;
      return a.nodes > b.nodes;
    });
    return std::move(causes_);
  }

 private:
  using Causes = std::vector<std::int32_t>;  // per tensor of a graph: index into causes_, or -1

  void Add(const CountedNode& node) {
    std::int32_t cause = InputCause(node);
    if (cause < 0) cause = OwnerCause(node.name);
    if (cause < 0) {
      cause = static_cast<std::int32_t>(causes_.size());
      causes_.push_back({.node = node.name, .op = node.node->op, .why = node.cost.note});
      if (node.def != nullptr && node.def->control != ControlFlow::kNone) owners_.push_back(cause);
    }
    for (const TensorId id : node.node->outputs) {
      if (id != kNoTensor) Of(node.graph)[static_cast<std::size_t>(id)] = cause;
    }
    if (!IsCounted(node)) return;
    Certainty::Cause& root = causes_[static_cast<std::size_t>(cause)];
    ++root.nodes;
    root.macs += node.cost.work.macs();
    root.flops += CountFlops(node.cost.work, convention_);
  }

  std::int32_t InputCause(const CountedNode& node) {
    for (const TensorId id : node.node->inputs) {
      if (id == kNoTensor) continue;
      const Tensor& tensor = node.graph->tensors[static_cast<std::size_t>(id)];
      if (!tensor.upper_bound) continue;
      const std::int32_t cause = CauseOf(node.graph, id);
      if (cause >= 0) return cause;
    }
    return -1;
  }

  // A loop that may stop early and an If that is open come before the nodes inside.
  std::int32_t OwnerCause(const std::string& name) const {
    for (auto owner = owners_.rbegin(); owner != owners_.rend(); ++owner) {
      const std::string& outer = causes_[static_cast<std::size_t>(*owner)].node;
      if (name.starts_with(outer) && name.size() > outer.size() && name[outer.size()] == '/') {
        return *owner;
      }
    }
    return -1;
  }

  // Through what a graph inside captures, to where the value was made.
  std::int32_t CauseOf(const Graph* graph, TensorId id) {
    for (int depth = 0; depth < kDeepest; ++depth) {
      const std::int32_t cause = Of(graph)[static_cast<std::size_t>(id)];
      const auto inside = subgraphs_.find(graph);
      if (cause >= 0 || inside == subgraphs_.end()) return cause;
      const std::vector<Capture>& captures = graph->captures;
      const auto capture = std::find_if(captures.begin(), captures.end(),
                                        [&](const Capture& c) { return c.inner == id; });
      if (capture == captures.end()) return -1;
      graph = inside->second->outer;
      id = capture->outer;
    }
    return -1;
  }

  Causes& Of(const Graph* graph) {
    Causes& causes = tensors_[graph];
    if (causes.empty()) causes.assign(graph->tensors.size(), -1);
    return causes;
  }

  static constexpr int kDeepest = 64;  // graphs in graphs that are looked through
  const InferredModel& model_;
  const Convention& convention_;
  std::unordered_map<const Graph*, const Subgraph*> subgraphs_;
  std::unordered_map<const Graph*, Causes> tensors_;
  std::vector<Certainty::Cause> causes_;
  std::vector<std::int32_t> owners_;  // causes that are control flow
};

}  // namespace

bool Doubt::Exact() const { return *this == Doubt(); }

void Accumulate(Doubt& into, const Doubt& what) {
  if (what.Exact()) return;
  Accumulate(into.at_most, what.at_most);
  Accumulate(into.assumed, what.assumed);
  into.unknown += what.unknown;
  into.bounded += what.bounded;
}

Doubt DoubtOf(const CountedNode& node, Macs macs, Flops flops) {
  Doubt doubt;
  doubt.unknown = node.status == NodeStatus::kUnknown ? 1 : 0;
  doubt.bounded = node.status == NodeStatus::kBounded ? 1 : 0;
  if (!IsCounted(node)) return doubt;
  const Doubt::Part part = {.nodes = 1, .macs = macs, .flops = flops};
  if (node.upper_bound) doubt.at_most = part;
  if (node.assumed) doubt.assumed = part;
  return doubt;
}

std::string_view Mark(Standing standing) {
  switch (standing) {
    case Standing::kAtMost:
      return "<= ";
    case Standing::kAtLeast:
      return ">= ";
    case Standing::kAbout:
      return "~ ";
    case Standing::kExact:
      break;
  }
  return "";
}

Standing MacsStanding(const Doubt& doubt) {
  return StandingOf(doubt.at_most.macs > Macs(), doubt.unknown + doubt.bounded > 0,
                    doubt.assumed.macs > Macs());
}

Standing FlopsStanding(const Doubt& doubt) {
  return StandingOf(doubt.at_most.flops > Flops(), doubt.unknown + doubt.bounded > 0,
                    doubt.assumed.flops > Flops());
}

Standing BytesStanding(const Doubt& doubt) {
  return StandingOf(doubt.at_most.bytes > Bytes(), doubt.unknown > 0,
                    doubt.assumed.bytes > Bytes());
}

Standing BoundStanding(const Doubt& doubt) {
  return StandingOf(false, false, doubt.assumed.time > Seconds());
}

Standing ExpectedStanding(const Doubt& doubt) {
  return StandingOf(doubt.at_most.expected > Seconds(), doubt.unknown > 0,
                    doubt.assumed.expected > Seconds());
}

Standing PeakStanding(const Doubt& doubt) {
  return StandingOf(doubt.at_most.nodes > 0, doubt.unknown > 0, doubt.assumed.nodes > 0);
}

std::string Word(const Doubt& doubt) {
  std::string word;
  const auto add = [&](bool holds, const char* what) {
    if (holds) word += (word.empty() ? "" : ", ") + std::string(what);
  };
  add(doubt.at_most != Doubt::Part(), "at most");
  add(doubt.assumed != Doubt::Part(), "assumed");
  add(doubt.unknown + doubt.bounded > 0, "incomplete");
  return word.empty() ? "exact" : word;
}

bool Certainty::Exact() const { return doubt.Exact(); }

bool Certainty::Silent() const {
  return Exact() && folded_macs == Macs() && branches.empty() && settled.empty();
}

Certainty CertaintyOf(const InferredModel& model, const Convention& convention) {
  Certainty certainty;
  certainty.causes = CauseFinder(model, convention).Run();
  for (const CountedNode& node : model.nodes) {
    if (node.folded_macs == Macs()) continue;
    ++certainty.folded_nodes;
    certainty.folded_macs += node.folded_macs;
  }
  certainty.branches = model.open_branches;
  certainty.settled = model.settled;
  for (const RunFact& fact : model.bindings_used) {
    certainty.settled.push_back({"--at", fact.node, fact.what});
  }
  for (const RunFact& fact : model.assumptions) {
    certainty.settled.push_back(
        {"--assume typical", fact.node, fact.what + ", " + fact.how, /*assumed=*/true});
  }
  return certainty;
}

}  // namespace dlcost
