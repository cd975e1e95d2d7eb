#pragma once

#include <cstddef>
#include <memory>

#include "estimator/infer/infer.h"

namespace dlcost {

// What is known of inferences, also of those that fail.
struct InferTrace {
  std::size_t steps = 0;     // nodes inferred, in all of them
  std::string last_assumed;  // node of the last assumption in the last of them, "" for none
};

// One inference, for those who try several: no suggestions, no assumed lengths. `model` stays where
// it is when its dimensions cannot be bound (UnboundDims).
InferredModel InferOnce(std::unique_ptr<Model>& model, const InferOptions& options,
                        InferTrace& trace);

// The graph, or a copy of the model, as it was before it was inferred.
void Forget(Graph& graph);
std::unique_ptr<Model> Uninferred(const Model& model);

// What Infer counts of a copy of the model, without looking for what to do about unknown nodes,
// which takes many times as long: for those who count one model at many sizes.
InferredModel InferUnadvised(const Model& model, const InferOptions& options);

// A copy of the model inferred under other options; nullopt where they do not fit it.
std::optional<InferredModel> TryInfer(const Model& model, const InferOptions& options,
                                      InferTrace& trace);

}  // namespace dlcost
