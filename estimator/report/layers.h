#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "estimator/report/report.h"

namespace dlcost {

// A module of the model, or a kernel in it, with everything that repeats it.
struct Layer {
  std::string name;   // "encoder/0..11": its path below the layer that holds it
  std::string story;  // of a kernel: what it does, "conv + relu"; "" of a module
  std::size_t depth = 0;
  std::int64_t times = 1;  // modules or kernels that are this row: of equal kernels in equal order
  GroupRow row;            // of all of them, and of what is below
};

// The kernels as a tree by module path, in the order in which they run. Neighbours below one module
// whose kernels do the same work and move the same bytes in the same order are one layer with a
// count: the 12 blocks of an encoder. `depth` levels of it (0: all).
std::vector<Layer> LayersOf(const Report& report, std::size_t depth);

// Kernels that do the same, as a person would name it: "conv + add + relu", "attention".
struct Story {
  GroupRow row;           // named so
  std::string operators;  // of one of them: "MatMul x2, Softmax"
  std::int64_t kernels = 0;
};

// Every kernel that is launched, by what it does; largest first.
std::vector<Story> StoriesOf(const Report& report);

// The components of a module path: "layer1/0/conv1" or "model.layers.0"; at most 64.
std::vector<std::string> PathParts(const std::string& scope);

}  // namespace dlcost
