#pragma once

#include <optional>
#include <set>

#include "estimator/infer/infer.h"
#include "estimator/infer/run_values.h"

namespace dlcost {

struct CustomOperator;

// Runs inference over one graph and, through control flow, over the graphs inside. Appends to
// result.nodes.
class InferenceDriver {
 public:
  InferenceDriver(InferredModel& result, const InferOptions& options)
      : result_(result), options_(options), run_values_(options.at, options.assume_typical) {
    run_values_.Skip(options.not_assumed);
  }

  // Infers and counts every node of `graph`, whose inputs and captures have types and shapes. Each
  // node runs `repeat` times; names get `prefix` in front.
  void Run(Graph& graph, Count repeat, const std::string& prefix);

  // A copy of a graph that `owner` holds, with what it captures from `outer` filled in. Throws
  // Unresolved when following control flow has taken too long.
  Graph& Instantiate(const Graph& original, const Graph& outer, const Node& owner);
  // Whether so many nodes more can be followed before Instantiate throws, with room for others.
  bool CanFollow(Count nodes) const;

  // To try something and take it back.
  struct Mark {
    std::size_t nodes, subgraphs, last_iterations;
  };
  Mark Here() const {
    return {result_.nodes.size(), result_.subgraphs.size(), result_.last_iterations.size()};
  }
  void Rollback(Mark mark);

  InferredModel& result() { return result_; }
  // What the user says about a node, or about all; remembers that it was asked for.
  std::optional<std::int64_t> Trips(const std::string& node);
  std::optional<bool> Branch(const std::string& node);
  // Keeps how a question that only a run can answer was settled.
  void Note(Settled settled);
  void Note(OpenBranch branch);
  // Throws Error when the user chose something for a node that has no such choice.
  void CheckChoices() const;
  // What was chosen for all nodes of a kind of which the model has none, a sentence each.
  std::vector<std::string> UnusedChoices() const;
  const RunValues& run_values() const { return run_values_; }
  // Nodes that were inferred, each as often as it was: what the inference cost.
  std::size_t steps() const { return steps_; }

 private:
  void RunNode(Graph& graph, const Node& node, Count repeat, const std::string& prefix);
  void CountNode(Graph& graph, CountedNode& counted);
  // The multiply-accumulates that a node known before the run would have if it ran.
  Macs FoldedMacs(Graph& graph, const CountedNode& counted) const;
  // Whether a node that is known before a run runs in each one all the same: no runtime folds what
  // follows from the sizes of open dimensions, and weights change from step to step.
  bool RunsEachTime(Graph& graph, const Node& node) const;
  // What the user's file says of the node's operator, or null.
  const CustomOperator* FindCustom(const Node& node) const;

  InferredModel& result_;
  const InferOptions& options_;
  std::set<std::string> loops_, branches_;  // names of nodes that have a choice
  std::size_t visits_ = 0;                  // nodes in instantiated graphs
  std::size_t steps_ = 0;
  RunValues run_values_;
  RecentWork recent_work_;
};

// Types of outputs that inference could not tell, from what the file declares, where that is
// concrete.
void AdoptDeclaredTypes(Graph& graph, const Node& node, const BoundDims& dims);

}  // namespace dlcost
