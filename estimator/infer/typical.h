#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "estimator/graph/graph.h"

namespace dlcost {

// What `--assume typical` takes for sizes that only the run knows. The rules are few, and each has
// its reason in print.
struct TypicalSize {
  std::int64_t size = 0;
  std::string reason;
};

// Whether a rule speaks of the node's output.
bool HasTypicalOutput(const Node& node);

// The size of an output's open axis, of which `bound` is the most; nullopt where no rule speaks.
std::optional<TypicalSize> TypicalOutput(const Graph& graph, const Node& node, std::int64_t bound);

// The elements of a text, a list or a set of nodes, where nothing tells.
inline constexpr std::int64_t kTypicalLength = 128;

// What each of `elements` counts adds to a sum that becomes a length: the frames of a phoneme.
inline constexpr std::int64_t kTypicalCount = 5;
inline constexpr const char* kTypicalCountReason =
    "5 for each element summed: speech has 12 to 15 phonemes and 60 to 90 frames a second";

}  // namespace dlcost
