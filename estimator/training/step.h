#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "estimator/infer/infer.h"

namespace dlcost {

// What a training step does beside the forward pass.
struct TrainOptions {
  std::string optimizer;            // one of Optimizers()
  std::string loss = "auto";        // one of Losses()
  std::vector<std::string> frozen;  // patterns of parameters that are not trained: "encoder.*"
  std::string precision;            // "" as the file says, or one of PrecisionNames()
  std::string recompute = "none";   // see recompute.h
  std::int64_t micro_batches = 1;   // forward and backward passes before one update
  bool clips = false;               // gradients by the norm of all
  bool sparse_embeddings = false;   // gradients of tables are the rows that were taken from them
  // Whether attention of a type runs as one kernel, there and back (null: none does), and whether
  // attention that the file spells out does as well.
  std::function<bool(DType, bool called)> fuses_attention;
  bool losses_apart = false;  // "auto" becomes nll, not cross_entropy
  bool joins_attention = false;
  // What devices gather in the forward pass they gather again in the backward pass, as Megatron-LM
  // does along the sequence (Korthikanti et al., arXiv 2205.05198), instead of keeping it.
  bool regathers = false;
};

// "none" (the gradients are what the step yields), "sgd", "momentum", "adam", "adamw", "lion",
// "lamb",
// "adafactor", "muon".
const std::vector<std::string>& Optimizers();
// "auto" (cross_entropy, or nll, for class scores [N, C], else mse), "cross_entropy", "nll" (the
// same as logarithms and likelihood, two operators each way), "mse", "sum", "none" (the gradients
// of the outputs are inputs of the step).
const std::vector<std::string>& Losses();

// A step as a graph of its own: the forward pass as training runs it (statistics of the batch,
// dropout alive), loss, backward pass and update. Parameters are stored tensors still.
struct Step {
  Model model;
  StepFacts facts;
  std::vector<std::string> notes;
  // Nodes that stand for a derivative that is not written, and why.
  std::map<std::string, std::string> unknown;
  // Nodes of the model, an If each, whose one branch that runs took their place.
  std::set<std::string> replaced;
  // Stored tensors that training changes: parameters, running statistics.
  std::vector<TensorId> changed;
};

// Derives the step from a model whose shapes are known. Throws Error for options that do not fit
// the model.
Step BuildStep(const InferredModel& forward, const TrainOptions& options);

// The step counted like any model. `options` are those that `forward` was inferred with.
InferredModel InferStep(Step step, const InferredModel& forward, const InferOptions& options);

// Counts again what a step keeps in memory (StepFacts), after its types were changed.
void CountStepMemory(InferredModel& step);

}  // namespace dlcost
