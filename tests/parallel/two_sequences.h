#pragma once

#include "estimator/infer/infer.h"

namespace dlcost {

inline constexpr std::int64_t kSequence = 128;

// A batch of two sequences, for tests that share a transformer out.
inline InferOptions TwoSequences() {
  InferOptions options;
  options.bindings.batch = 2;
  options.bindings.dims["sequence"] = kSequence;
  return options;
}

}  // namespace dlcost
