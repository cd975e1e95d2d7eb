#pragma once

#include <optional>
#include <string>

#include "estimator/infer/infer.h"

namespace dlcost {

// What to do about dimensions that are left open: "bind them, for example: --dim seq=128", with
// options that were tried on a copy of the model and do work, quoted for a shell. Where no sizes
// were found that fit together, it says so instead. Tries are bounded: an error is not slower than
// a few reports.
std::string SuggestBindings(const Model& model, const InferOptions& options,
                            const UnboundDims& unbound);

// The same as bindings, those of `options` included; nullopt where no sizes fit together.
std::optional<Bindings> FindBindings(const Model& model, const InferOptions& options,
                                     const UnboundDims& unbound);

}  // namespace dlcost
