#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "estimator/training/reverse.h"

namespace dlcost {

// The derivative of one graph inside control flow, written into a copy of it and then cut in two:
// what runs forward and keeps values, and what runs back and reads them.
class BodyDerivative {
 public:
  BodyDerivative(const Graph& body, int opset);

  // Writes what takes gradients of `outputs`, which become inputs of the backward graph, back to
  // `leaves`. Once. Throws Unresolved where a type is missing.
  void Write(const std::vector<TensorId>& leaves, const std::vector<TensorId>& outputs);

  NodeWriter& writer() { return writer_; }
  const Graph& graph() const { return graph_; }
  // kNoTensor where nothing flows back.
  TensorId GradientOf(TensorId id) const;
  // Of the i-th of `outputs`.
  TensorId Seed(std::size_t i) const { return seeds_[i]; }
  // A further input of the backward graph, like `id`.
  TensorId InputLike(TensorId id, const std::string& name);
  // The tensor as an output of the backward graph: one that it makes, and no other output is.
  TensorId AsOutput(TensorId id);

  const std::map<std::string, std::string>& unknown() const { return reversed_.unknown; }

  // The graph that runs back, with `inputs` and `outputs`. What it reads of the forward graph is
  // captured where that captures it, made again where that costs nothing, else listed in kept(),
  // with the tensor by which the backward graph has it: neither input nor captured yet. `outside`
  // names, by tensor, what the graph around has under a name of its own.
  Graph TakeBackward(const std::vector<TensorId>& inputs, const std::vector<TensorId>& outputs,
                     const std::map<TensorId, TensorId>& outside);
  struct Kept {
    TensorId forward, backward;
  };
  const std::vector<Kept>& kept() const { return kept_; }

  // The graph that runs forward; behind TakeBackward. A value as one more of its outputs.
  void AddOutput(TensorId id);
  Graph TakeForward();

 private:
  TensorId Map(TensorId id, int depth);
  TensorId NewTensor(TensorId like);
  bool IsMadeAgain(TensorId id) const;

  Graph graph_;
  NodeWriter writer_;
  std::size_t forward_nodes_;
  std::vector<TensorId> inputs_, forward_outputs_, seeds_;
  Reversed reversed_;
  std::vector<bool> ready_;    // per tensor: written, and no output of the backward graph yet
  std::size_t looked_at_ = 0;  // written nodes whose outputs are in ready_
  Graph backward_;
  std::vector<TensorId> mapped_;       // per tensor: the backward graph's
  std::vector<std::size_t> producer_;  // per tensor: its forward node
  std::vector<bool> own_;              // per tensor: the backward graph makes it
  std::map<TensorId, TensorId> captured_, outside_;
  std::vector<Kept> kept_;
};

}  // namespace dlcost
