#pragma once

#include "estimator/infer/infer.h"

namespace dlcost {

// Runs inference over one graph and, through control flow, over the graphs inside. Appends to
// result.nodes.
class InferenceDriver {
 public:
  InferenceDriver(InferredModel& result, const InferOptions& options)
      : result_(result), options_(options) {}

  // Infers and counts every node of `graph`, whose inputs and captures have types and shapes. Each
  // node runs `repeat` times; names get `prefix` in front.
  void Run(Graph& graph, Count repeat, const std::string& prefix);

  InferredModel& result() { return result_; }
  const InferOptions& options() const { return options_; }

 private:
  void RunNode(Graph& graph, const Node& node, Count repeat, const std::string& prefix);
  void CountNode(Graph& graph, CountedNode& counted);

  InferredModel& result_;
  const InferOptions& options_;
};

// control_flow.cc: infers the subgraphs of If, Loop, Scan or SequenceMap, sets the node's output
// types and appends the inner nodes with their repetitions. `counted` is the control-flow node
// itself.
void RunControlFlow(InferenceDriver& driver, Graph& graph, CountedNode& counted, Count repeat);

// Types of outputs that inference could not tell, from what the file declares, where that is
// concrete.
void AdoptDeclaredTypes(Graph& graph, const Node& node, const BoundDims& dims);

}  // namespace dlcost
