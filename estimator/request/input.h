#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/request/input_options.h"

namespace dlcost {

// Which stage bounds a training: storage, decoding, copies or the devices of a node.
struct InputRequest {
  InputOptions input;
  const System* system = nullptr;  // whose values hold where `input` leaves them open; null: none
  int devices = 1;                 // that train
  // What one device does: either items/s, or FLOP/s with the FLOP to train on one item.
  std::optional<double> compute_items_per_s, compute_flops_per_s, flops_per_item;
};

struct InputBounds {
  std::vector<InputStage> stages;
  InputStage slowest;
};
// Throws Error where no stage is given.
InputBounds BoundInput(const InputRequest& request);

std::string InputText(const InputBounds& bounds, std::size_t max_width = 0);
// Schema dlcost.input/1.
std::string InputJson(const InputBounds& bounds);

}  // namespace dlcost
