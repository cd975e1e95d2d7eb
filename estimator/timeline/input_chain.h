#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/timeline/timeline.h"

namespace dlcost {

// A stage that items pass through on their way into training.
struct InputStage {
  std::string name;
  double rate = 0;  // items/s that it can pass
  std::string how;  // the arithmetic: "10 GB/s / 150.5 kB"
};

// The stage with the lowest rate, the first of equals. Null without stages.
const InputStage* SlowestStage(const std::vector<InputStage>& stages);

// Batches that are prepared on the host and trained on the device, `batches` of them: the device
// waits for the preparation of its batch; at most `prefetch` batches are ready or in preparation
// beside the one that trains, `loaders` of them at a time. 0: preparation and training take turns.
Timeline PrefetchTimeline(Seconds prepare, Seconds train, int batches, int prefetch,
                          int loaders = 1);

// Time of one of many batches, once the first are through: prepare + train without prefetch, the
// longer of both with it, where `loaders` prepare as many batches at a time.
Seconds SteadyStep(Seconds prepare, Seconds train, int prefetch, int loaders = 1);

}  // namespace dlcost
