#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/regress/node_view.h"

namespace dlcost {

// How a node differs from its partner.
struct NodeDelta {
  std::vector<std::string> attributes;                // "strides 1,1 -> 2,2"
  std::vector<std::string> weights;                   // "gained a bias", "kernel 3x3 -> 5x5"
  std::optional<std::int64_t> in_before, in_after;    // features read, where they differ
  std::optional<std::int64_t> out_before, out_after;  // features made, where they differ
  bool shapes = false;                                // some activation has another shape
  DType type_before = DType::kUndefined, type_after = DType::kUndefined;  // where types differ
  std::string output_change;  // "56x56 -> 28x28", "1x64x56x56 -> 1x128x28x28", "" when the same
  bool fusion = false;        // another operator: one carries the activation behind it

  // Something that only this node's author can have done.
  bool Own() const {
    return fusion || !attributes.empty() || !weights.empty() || out_before.has_value();
  }
  bool Any() const { return Own() || in_before || shapes || type_before != DType::kUndefined; }
};

NodeDelta CompareNodes(const NodeRow& before, const NodeRow& after);

}  // namespace dlcost
