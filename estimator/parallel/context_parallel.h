#pragma once

#include "estimator/infer/infer.h"

namespace dlcost {

// A sequence split among devices, in attention too.
struct ContextParallel {
  int devices = 1;      // cp
  int stride = 1;       // from one of them to the next
  bool trains = false;  // results stay split
};

// The model of one of the devices, which has a part of every sequence: all but attention works on
// that alone, and attention on the device's queries and the keys and values of all, which are
// gathered before it (Llama Team, "The Llama 3 herd of models", arXiv 2407.21783, section 3.3.2).
// Under a causal mask a device has one piece of the begin and one of the end of the sequence, of
// 2 * devices pieces, so that all look at as many keys: half of them. Weights are whole
// everywhere. Throws Error where no attention is found, the sequence does not divide, or an
// operator needs all of it.
InferredModel InferContextRank(const InferredModel& model, const ContextParallel& plan,
                               const InferOptions& options);

}  // namespace dlcost
