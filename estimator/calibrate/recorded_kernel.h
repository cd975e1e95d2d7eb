#pragma once

#include <optional>
#include <string>

#include "estimator/calibrate/latency_table.h"
#include "models/algorithms/execution.h"

namespace dlcost {

// Which kernel ran, as far as a name tells it that a profiler recorded beside a row (its column
// `kernel`), in the words of an Execution.
struct RecordedKernel {
  std::optional<Algorithm> algorithm;  // empty: any with such a tile
  // Of the main product, as in TileGrid; 0: the name tells no tile that the product chooses.
  Count rows = 0, columns = 0;
  bool sliced = false;  // thread groups of a block share k
  Count parts = 0;      // blocks that share k, as the grid tells them; 0: it does not

  std::string Text() const;  // "64x128", "winograd_nonfused 64x64", "32x32 sliced"
};

// Empty for a row without a name, or with one that is neither a product's nor a convolution's.
std::optional<RecordedKernel> RecordedBy(LatencyKind kind, const LatencyRow& row);

// The same of what the product names.
RecordedKernel NamedBy(const Execution& execution);

// Whether the product's is the recorded one: what the name does not tell is not held against it.
bool IsSameKernel(const RecordedKernel& recorded, const RecordedKernel& named);

}  // namespace dlcost
