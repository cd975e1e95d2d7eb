#pragma once

#include <optional>
#include <vector>

#include "estimator/system/system.h"
#include "estimator/timeline/input_chain.h"

namespace dlcost {

// How items come to the devices of a node. What is absent is the system's, or no stage.
struct InputOptions {
  std::optional<double> item_bytes;    // on the device
  std::optional<double> stored_bytes;  // in storage, where that differs
  std::optional<double> storage_bytes_per_s, host_link_bytes_per_s;  // of a node; to one device
  std::optional<double> decode_items_per_s, augment_items_per_s;     // of one core
  int cores = 0;                                                     // of the host

  // Whether anything is said about it.
  bool given() const {
    return item_bytes || stored_bytes || storage_bytes_per_s || host_link_bytes_per_s ||
           decode_items_per_s || augment_items_per_s || cores > 0;
  }
};

// The stages before the devices, of a node with so many of them; what the options leave open is the
// system's, where there is one. Throws Error without the size of an item.
std::vector<InputStage> StagesOf(const InputOptions& options, const System* system, int devices);

}  // namespace dlcost
