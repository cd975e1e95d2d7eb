#pragma once

#include <string>

#include "estimator/parallel/data_parallel.h"
#include "estimator/system/system_database.h"

namespace dlcost {

inline System Find(const std::string& name) {
  return SystemDatabase({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"}).Find(name);
}

// `layers` equal layers: a third of the time forward, two thirds backward.
inline StepProfile Layers(int layers, double seconds, std::int64_t gradient_bytes) {
  StepProfile profile;
  profile.weights = profile.gradients = profile.sent_gradients = Bytes(gradient_bytes);
  profile.states = Bytes(2 * gradient_bytes);
  profile.activations = Bytes(1000);
  const Bytes part(gradient_bytes / layers);
  for (int i = 0; i < layers; ++i) {
    profile.kernels.push_back({.name = "layer" + std::to_string(i),
                               .time = Seconds(seconds / 3 / layers),
                               .weights = part,
                               .passed = Bytes(1 << 20)});
  }
  for (int i = layers; i-- > 0;) {
    profile.kernels.push_back({.name = "layer" + std::to_string(i) + "/grad/Product",
                               .phase = Phase::kBackwardData,
                               .time = Seconds(seconds * 2 / 3 / layers),
                               .gradients = part,
                               .trained = part});
  }
  profile.kernels.push_back({.name = "update", .phase = Phase::kOptimizer, .time = Seconds()});
  return profile;
}

}  // namespace dlcost
