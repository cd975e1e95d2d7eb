#pragma once

#include <string>
#include <vector>

#include "models/gradients/writer.h"

namespace dlcost {

// Devices that have some of the experts each, whole.
struct ExpertPlaces {
  int devices = 1;
  int stride = 1;  // from one of them to the next
  // Tokens of the busiest experts over the mean: what every device waits for.
  double load = 1;
};

struct GroupedExperts {
  std::vector<std::string> weights;  // stored tensors that hold one part per expert
  std::vector<std::string> notes;
};

// Writes mixtures of experts (com.microsoft MoE) as training frameworks run them: the router's
// choice, every expert's tokens side by side as rows of one block, a product with a batch of
// experts for each layer, and each token's rows added up. Every expert gets as many tokens:
// tokens * k / experts, times `load`, rounded up with a note. With several devices each sends the
// others the rows for their experts and gets the results back (all-to-all; Lepikhin et al., GShard,
// arXiv 2006.16668), and has 1 / devices of the experts' weights, whose products have the rows of
// all devices; quantized experts (QMoE), which have no derivative, too, one node on each device.
// Throws Error where experts do not divide among the devices.
GroupedExperts GroupExperts(NodeWriter& writer, const ExpertPlaces& places = {});

}  // namespace dlcost
