#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "estimator/graph/graph.h"
#include "estimator/infer/binding.h"
#include "estimator/infer/choices.h"
#include "estimator/infer/run_binding.h"
#include "estimator/infer/settled.h"
#include "estimator/infer/step.h"
#include "models/operators/op_def.h"

namespace dlcost {

// One node as it runs, with what it costs. Nodes inside control flow appear with the name of the
// node around them in front and with the number of times that they run; their cost covers all of
// these runs.
struct CountedNode {
  const Node* node = nullptr;
  const Graph* graph = nullptr;  // holds the node's tensors, with shapes
  const OpDef* def = nullptr;    // null: an operator that nobody defined
  std::string name;              // unique in the model
  NodeStatus status = NodeStatus::kUnknown;
  OpCost cost;  // of all `repeat` runs together
  Count repeat = 1;
  std::string why;           // for kUnknown and kBounded: what is missing
  bool upper_bound = false;  // sizes depend on data; counts are upper bounds
  bool assumed = false;      // counts rest on something that was assumed
  // Known before the run: the multiply-accumulates that its mathematics has, which whoever folds
  // constants does not run. Not part of `cost`.
  Macs folded_macs;
  // Of weights that no node before this one reads: over all nodes, the model's.
  Count parameters;
  Bytes weight_bytes;
};

// One way in which a control-flow node runs a graph: a copy with the shapes of these runs.
struct Subgraph {
  std::unique_ptr<Graph> graph;
  const Graph* original = nullptr;  // as the file has it
  const Graph* outer = nullptr;     // holds what the graph captures
  const Node* owner = nullptr;      // in `outer`
  bool taken = true;                // false: a branch that does not run
};

// A model whose every shape that can be known is known, counted.
struct InferredModel {
  std::unique_ptr<Model> model;  // on the heap, so that `nodes` may point into it
  BoundDims dims;
  std::vector<CountedNode> nodes;  // in execution order
  // Weights: distinct stored tensors that the run reads. Shared ones count once, shape arithmetic
  // not at all.
  Count parameters;
  Bytes weight_bytes;
  // Graphs re-inferred for control flow; `nodes` point into them.
  std::deque<Subgraph> subgraphs;
  // Iterations of loops are one row per node in `nodes`, with the shapes of an iteration in the
  // middle. These are the nodes of the last iterations, whose values may be the largest: for
  // what lives alone (memory.h).
  std::vector<CountedNode> last_iterations;
  // What only the run knows, and where it comes from: bound with --at, or assumed.
  std::vector<RunFact> bindings_used;
  std::vector<RunFact> assumptions;
  // What only a run can tell, and how it was settled, in the order in which it came up.
  std::vector<Settled> settled;
  std::vector<OpenBranch> open_branches;
  std::vector<std::string> notes;
  std::shared_ptr<const StepFacts> step;  // null: inference
};

class CustomOperators;

struct InferOptions {
  Bindings bindings;
  ControlChoices control;
  std::shared_ptr<const CustomOperators> custom;  // null: none
  std::vector<RunBinding> at;                     // --at NODE=WHAT
  bool assume_typical = false;  // --assume typical: sizes that only the run knows, by typical.h
  std::set<std::string> not_assumed;  // nodes left out: the model contradicts what is typical
  bool trains = false;                // a training step: weights change from run to run
  bool open = false;                  // the model was made of one with open dimensions
};

// Binds dimensions, infers shapes and small values through the graph in topological order, and
// counts every node. Throws Error (with the model's path and the node) for a model that contradicts
// the ONNX specification, and for dimensions that are left open, with options that bind them.
InferredModel Infer(Model model, const InferOptions& options);

}  // namespace dlcost
