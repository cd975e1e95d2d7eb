#include "estimator/infer/run_hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "estimator/core/error.h"
#include "estimator/core/shell.h"
#include "estimator/infer/infer_once.h"
#include "estimator/infer/run_values.h"
#include "estimator/infer/typical.h"

namespace dlcost {
namespace {

constexpr std::size_t kMaxHints = 3;            // lines that a reader takes in
constexpr std::size_t kMaxCandidates = 8;       // tried for each hint
constexpr std::size_t kMaxHintSteps = 400'000;  // nodes inferred for all of them: about a second
constexpr std::int64_t kMaxElements = 8;        // of a value that a person would write

std::size_t UnknownNodes(const InferredModel& model) {
  return static_cast<std::size_t>(
      std::count_if(model.nodes.begin(), model.nodes.end(),
                    [](const CountedNode& node) { return node.status == NodeStatus::kUnknown; }));
}

// An option to try.
struct Candidate {
  std::string what, option;
  InferOptions options;
  RunBinding binding;
};

class Candidates {
 public:
  Candidates(const InferredModel& model, const InferOptions& options)
      : model_(model), options_(options) {
    for (const CountedNode& node : model.nodes) {
      for (const TensorId id : node.node->outputs) {
        if (id != kNoTensor) producers_[Of(*node.graph, id)] = &node;
      }
    }
  }

  std::vector<Candidate> Find() {
    for (const CountedNode& node : model_.nodes) {
      if (node.status != NodeStatus::kUnknown || found_.size() >= kMaxCandidates) continue;
      if (node.why.find("--trips") != std::string::npos) AddTrips(node);
      for (const TensorId id : node.node->inputs) {
        if (id != kNoTensor) Climb(*node.graph, id);
      }
    }
    return std::move(found_);
  }

 private:
  static const Tensor* Of(const Graph& graph, TensorId id) {
    return &graph.tensors[static_cast<std::size_t>(id)];
  }

  // Few numbers that are not known.
  static bool IsOpenValue(const Tensor& tensor) {
    return tensor.value == nullptr && tensor.type.kind == ValueKind::kTensor && tensor.type.shape &&
           tensor.type.shape->Elements() <= Count(kMaxElements) &&
           tensor.type.dtype != DType::kString && !tensor.constant;
  }

  // The value that a node waits for, and what it was computed from while that is as small: others
  // may have been computed from the same.
  void Climb(const Graph& graph, TensorId id) {
    constexpr int kClimbed = 12;
    std::vector<TensorId> chain;
    for (int i = 0; i < kClimbed && IsOpenValue(*Of(graph, id)); ++i) {
      if (!seen_.insert(Of(graph, id)).second) break;
      chain.push_back(id);
      const auto producer = producers_.find(Of(graph, id));
      if (producer == producers_.end()) break;
      const auto& inputs = producer->second->node->inputs;
      const auto next = std::find_if(inputs.begin(), inputs.end(), [&](TensorId input) {
        return input != kNoTensor && IsOpenValue(*Of(graph, input));
      });
      if (next == inputs.end()) break;
      id = *next;
    }
    if (chain.empty()) return;
    const std::optional<std::int64_t> summed = SummedElements(graph, chain.back());
    // From the first one on: more may follow from it.
    for (std::size_t i = chain.size(); i-- > 0;) AddValue(graph, chain[i], summed);
  }

  // Of how many elements the value is a sum; nullopt where it was computed from as few.
  std::optional<std::int64_t> SummedElements(const Graph& graph, TensorId id) const {
    const auto producer = producers_.find(Of(graph, id));
    if (producer == producers_.end()) return std::nullopt;
    Count most;
    for (const TensorId input : producer->second->node->inputs) {
      if (input == kNoTensor || Of(graph, input)->constant) continue;
      const auto& shape = Of(graph, input)->type.shape;
      if (shape) most = std::max(most, shape->Elements());
    }
    const Count own = Of(graph, id)->type.shape->Elements();
    if (own == Count(0) || most <= own) return std::nullopt;
    return std::min(most / own, Count(1'000'000)).value();
  }

  void AddValue(const Graph& graph, TensorId id, std::optional<std::int64_t> summed) {
    const Tensor& tensor = *Of(graph, id);
    const auto count = static_cast<std::size_t>(tensor.type.shape->Elements().value());
    if (count == 0) return;
    std::int64_t element = summed ? *summed * kTypicalCount : kTypicalLength;
    if (tensor.type.dtype == DType::kBool) element = 1;
    const std::vector<std::int64_t> ints(count, element);
    std::string list;
    for (const std::int64_t each : ints) list += (list.empty() ? "" : ",") + std::to_string(each);
    Candidate candidate{fmt::format("the value of '{}'", Printable(tensor.name)), "", options_, {}};
    const auto producer = producers_.find(&tensor);
    if (producer != producers_.end()) {
      candidate.binding = ParseRunBinding(fmt::format("{}=[{}]", tensor.name, list));
      candidate.binding.assumed_because =
          summed ? kTypicalCountReason : "128, a length as good as any";
      candidate.options.at.push_back(candidate.binding);
      candidate.options.at.back().assumed_because.clear();
      candidate.option = "--at " + ShellWord(candidate.binding.text);
    } else if (tensor.role == Role::kInput && &graph == &model_.model->graph) {
      candidate.options.bindings.values[tensor.name] = ints;
      candidate.option = "--value " + ShellWord(tensor.name + "=" + list);
    } else {
      return;
    }
    found_.push_back(std::move(candidate));
  }

  void AddTrips(const CountedNode& node) {
    constexpr std::int64_t kTrips = 10;
    Candidate candidate{
        fmt::format("the iterations of '{}'", Printable(node.name)), "", options_, {}};
    candidate.options.control.trips[node.name] = kTrips;
    candidate.option = "--trips " + ShellWord(fmt::format("{}={}", node.name, kTrips));
    found_.push_back(std::move(candidate));
  }

  const InferredModel& model_;
  const InferOptions& options_;
  std::unordered_map<const Tensor*, const CountedNode*> producers_;
  std::unordered_set<const Tensor*> seen_;
  std::vector<Candidate> found_;
};

// The nodes whose output the data bounds, "NODE" or "NODE:1": those with exact inputs first.
struct OpenNodes {
  std::vector<std::string> names;
  std::size_t roots = 0;
};

OpenNodes FindOpenNodes(const InferredModel& model) {
  std::vector<std::string> roots, others;
  for (const CountedNode& node : model.nodes) {
    if (!node.upper_bound) continue;
    const auto& inputs = node.node->inputs;
    const bool inherited = std::any_of(inputs.begin(), inputs.end(), [&](TensorId id) {
      return id != kNoTensor && node.graph->tensors[static_cast<std::size_t>(id)].upper_bound;
    });
    if (inherited && !HasTypicalOutput(*node.node)) continue;
    for (std::size_t i = 0; i < node.node->outputs.size(); ++i) {
      if (node.node->outputs[i] == kNoTensor || !OpenAxis(*node.graph, *node.node, i)) continue;
      (inherited ? others : roots)
          .push_back(i == 0 ? node.name : fmt::format("{}:{}", node.name, i));
      break;
    }
  }
  OpenNodes open{roots, roots.size()};
  open.names.insert(open.names.end(), others.begin(), others.end());
  return open;
}

// Halves all of them, or one of the first, whichever the model allows; "" for none.
std::string BindingOfBounds(const InferredModel& model, const InferOptions& options,
                            const std::vector<std::string>& names) {
  constexpr std::size_t kTried = 3;
  constexpr std::size_t kMost = 100'000;  // nodes inferred: this is only an example
  std::vector<std::string> texts;
  if (names.size() > 1) texts.emplace_back("*=50%");
  for (std::size_t i = 0; i < std::min(kTried, names.size()); ++i) {
    if (names[i].find('*') == std::string::npos) texts.push_back(names[i] + "=50%");
  }
  InferTrace trace;
  for (const std::string& text : texts) {
    if (trace.steps > kMost) break;
    InferOptions trial = options;
    trial.at.push_back(ParseRunBinding(text));
    if (TryInfer(*model.model, trial, trace)) return "--at " + ShellWord(text);
  }
  return "";
}

// What to do about sizes that are upper bounds.
std::string UpperBoundNote(const InferredModel& model, const InferOptions& options) {
  const OpenNodes open = FindOpenNodes(model);
  if (open.roots == 0) return "";
  const auto bounds = std::count_if(model.nodes.begin(), model.nodes.end(),
                                    [](const CountedNode& node) { return node.upper_bound; });
  const std::string bind = BindingOfBounds(model, options, open.names);
  const std::string more =
      open.names.size() == 1 ? "" : fmt::format(" and {} more", open.names.size() - 1);
  return fmt::format(
      "the counts of {} nodes are upper bounds, for the data decides the size of {}{}; bind {}{}",
      bounds, Printable(open.names.front()), more,
      bind.empty() ? "sizes with --at NODE=SHAPE" : "sizes, such as " + bind,
      options.assume_typical ? "" : ", or estimate with --assume typical");
}

}  // namespace

bool LeavesSizes(const InferredModel& model) { return FindOpenNodes(model).roots > 0; }

std::vector<RunHint> FindRunHints(const InferredModel& model, const InferOptions& options) {
  std::vector<RunHint> hints;
  std::size_t unknown = UnknownNodes(model);
  InferTrace trace;
  InferOptions so_far = options;
  std::optional<InferredModel> current;
  while (unknown > 0 && hints.size() < kMaxHints && trace.steps <= kMaxHintSteps) {
    const InferredModel& from = current ? *current : model;
    std::optional<InferredModel> best;
    std::optional<Candidate> chosen;
    std::size_t left = unknown;
    for (Candidate& candidate : Candidates(from, so_far).Find()) {
      if (trace.steps > kMaxHintSteps) break;
      std::optional<InferredModel> tried = TryInfer(*model.model, candidate.options, trace);
      if (!tried || UnknownNodes(*tried) >= left) continue;
      left = UnknownNodes(*tried);
      best = std::move(tried);
      chosen = std::move(candidate);
    }
    if (!chosen) break;
    hints.push_back({chosen->what, chosen->option, unknown - left, chosen->binding});
    so_far = chosen->options;
    current = std::move(best);
    unknown = left;
  }
  return hints;
}

void AssumeHints(InferredModel& model, const InferOptions& options,
                 const std::vector<RunHint>& hints) {
  InferOptions assuming = options;
  for (const RunHint& hint : hints) {
    if (!hint.binding.target.empty()) assuming.at.push_back(hint.binding);
  }
  if (assuming.at.size() == options.at.size()) return;
  InferTrace trace;
  if (auto assumed = TryInfer(*model.model, assuming, trace)) model = std::move(*assumed);
}

std::vector<std::string> NotesOf(const InferredModel& model, const InferOptions& options,
                                 const std::vector<RunHint>& hints) {
  std::vector<std::string> notes;
  for (const RunHint& hint : hints) {
    const bool taken = options.assume_typical && !hint.binding.target.empty();
    if (taken) continue;
    notes.push_back(fmt::format("{} from {}: bind it with {}",
                                hint.resolved == 1
                                    ? "1 unknown node follows"
                                    : fmt::format("{} unknown nodes follow", hint.resolved),
                                hint.what, hint.option));
  }
  if (std::string note = UpperBoundNote(model, options); !note.empty()) {
    notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace dlcost
