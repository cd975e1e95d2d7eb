#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/infer/driver.h"

namespace dlcost {

// Infers the graphs of If, Loop, Scan, SequenceMap or a generation of text, sets the node's output
// types, and appends the node and, after it, the inner nodes with their repetitions. `counted` is
// the control-flow node.
void RunControlFlow(InferenceDriver& driver, Graph& graph, CountedNode counted);

// What is known of a value that goes into or comes out of a graph.
struct Known {
  TensorType type;
  ValuePtr value;
  bool foldable = false;
  bool upper_bound = false;
};

// A control-flow node while its graphs are followed.
class ControlNode {
 public:
  ControlNode(InferenceDriver& driver, Graph& graph, std::size_t index)
      : driver_(driver), graph_(graph), index_(index) {}

  InferenceDriver& driver() { return driver_; }
  CountedNode& counted() { return driver_.result().nodes[index_]; }
  const Node& node() { return *counted().node; }
  std::string name() { return counted().name; }
  Count repeat() { return counted().repeat; }

  bool HasInput(std::size_t i);
  Known Input(std::size_t i);  // nothing known where the input is omitted
  const std::string& InputName(std::size_t i);
  std::size_t NumInputs() { return node().inputs.size(); }
  std::size_t NumOutputs() { return node().outputs.size(); }
  void SetOutput(std::size_t i, const Known& known);
  // What the user chose for an integer input of one element, where nothing is known of it.
  void BindInput(std::size_t i, std::int64_t value);
  // What the operator itself sees.
  OpContext Context();

  // The graph attribute `name`; throws Error when there is none.
  const Graph& Body(const std::string& name);
  bool HasBody(const std::string& name);
  // Runs a copy of `body` with these inputs, `times` for each run of the node; the inner nodes get
  // `label` between the node's name and their own. Returns what is known of its outputs.
  std::vector<Known> Run(const Graph& body, const std::vector<Known>& inputs, Count times,
                         const std::string& label = "");
  // The nodes since `mark` run `times` as often as they were counted.
  void Repeat(InferenceDriver::Mark mark, Count times);
  // Whether every node since `mark` was resolved.
  bool Resolved(InferenceDriver::Mark mark);
  // From `mark` on, sizes and repetitions depend on data: counts are upper bounds.
  void MarkUpperBound(InferenceDriver::Mark mark, const std::string& note);

 private:
  InferenceDriver& driver_;
  Graph& graph_;
  std::size_t index_;
};

void RunIf(ControlNode& control);           // control_flow.cc
void RunLoop(ControlNode& control);         // loop.cc
void RunScan(ControlNode& control);         // scan.cc
void RunSequenceMap(ControlNode& control);  // sequence_map.cc
void RunGeneration(ControlNode& control);   // generation.cc

// The known type without a value: of something that differs from run to run.
inline Known TypeOnly(Known known) {
  known.value = nullptr;
  known.foldable = false;
  return known;
}

bool SameType(const TensorType& a, const TensorType& b);

// `count` tensors of type `element` along a new axis.
Known Stacked(const Known& element, Count count, std::int64_t axis);

}  // namespace dlcost
