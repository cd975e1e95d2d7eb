#pragma once

#include <map>
#include <string>

#include "estimator/training/step.h"
#include "tests/infer/small_model.h"

namespace dlcost {

// What the tests of training steps look at.

inline InferredModel StepOf(InferredModel forward, const TrainOptions& options) {
  return InferStep(BuildStep(forward, options), forward, {});
}

// The first node of this operator; null where there is none.
inline const CountedNode* Find(const InferredModel& step, const std::string& op) {
  for (const CountedNode& counted : step.nodes) {
    if (counted.node->op == op) return &counted;
  }
  return nullptr;
}

inline Macs MacsOf(const InferredModel& step, Phase phase) {
  Macs macs;
  for (const CountedNode& counted : step.nodes) {
    if (counted.node->phase == phase) macs += counted.cost.work.macs();
  }
  return macs;
}

inline std::map<std::string, std::int64_t> MacsByPhase(const InferredModel& step) {
  std::map<std::string, std::int64_t> macs;
  for (const CountedNode& counted : step.nodes) {
    macs[std::string(Name(counted.node->phase))] += counted.cost.work.macs().value();
  }
  return macs;
}

// y[4,2] = relu(x[4,8] a[8,16]) b[16,2]
inline SmallModel TwoLayers() {
  return SmallModel()
      .Input("x", {4, 8})
      .Weight("a", {8, 16})
      .Weight("b", {16, 2})
      .Node("MatMul", {"x", "a"}, {"h"})
      .Node("Relu", {"h"}, {"r"})
      .Node("MatMul", {"r", "b"}, {"y"})
      .Output("y");
}

}  // namespace dlcost
