#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "estimator/infer/infer.h"
#include "estimator/plan/kernel.h"

namespace dlcost {

// What is counted of an inferred model instead.
using ModelDerivation = std::function<InferredModel(InferredModel, const InferOptions&)>;

// Which model, and its open dimensions. Texts are as the command line takes them.
struct ModelOptions {
  std::string path;
  const Model* read = nullptr;  // the model, where it was read already: `path` names it
  std::optional<std::int64_t> batch;
  std::vector<std::string> dims, inputs, trips, branches, values, ops, at;
  Bindings bound;      // what is given as values, not as text
  std::string assume;  // "" nothing
  std::string dtype;   // "" as the file says
  // A training step instead of inference: the optimizer, "" for none of this.
  std::string train;
  std::string loss = "auto";
  std::vector<std::string> frozen;
  std::string precision;  // "" as the file says
  std::string recompute = "none";
  std::int64_t micro_batches = 1;
  std::optional<double> clip_norm;
  bool sparse_embeddings = false;
  // What is looked for (memory_fit.h): the largest batch that fits, the cheapest recomputation that
  // does.
  bool batch_max = false, fit = false;
  // Before any derivation: the part of one of several devices.
  std::function<InferredModel(const InferredModel&, const InferOptions&)> split;
  // How kernels are formed, of a report's options: a step is derived for it, since attention that
  // runs as one kernel keeps no scores.
  PlanOptions plan;
};
// The model itself, without weights.
Model ModelOf(const ModelOptions& options);
Bindings BindingsOf(const ModelOptions& options);
// Throws Error where something is to be looked for (memory_fit.h): most commands take what is
// given.
void RequireNothingSought(const ModelOptions& options);
// What inference needs to know, dimensions included; --dtype is not part of it.
InferOptions InferOptionsOf(const ModelOptions& options, const Bindings& bindings);
// Stores and computes in --dtype where it is given.
void ApplyDType(const ModelOptions& options, InferredModel& model);
// What is counted of an inferred model instead: the training step, or the precision, that the
// options ask for. Null where they ask for neither; throws Error where they contradict each other.
ModelDerivation DerivationOf(const ModelOptions& options);
InferredModel InferModel(const ModelOptions& options);
// The same for a model that was read already, with the dimensions bound so.
InferredModel InferModel(Model model, const ModelOptions& options, const Bindings& bindings);
// The same for a model that was inferred already with the dimensions bound so: its `split`.
InferredModel InferSplit(const InferredModel& whole, const ModelOptions& options,
                         const Bindings& bindings);

// The training step that --train names, as a model, and which of its stored tensors are inputs of
// a file that has it: what training changes.
struct TrainingStep {
  Model model;
  std::vector<TensorId> inputs;
};
TrainingStep BuildTrainingStep(const ModelOptions& options);

}  // namespace dlcost
