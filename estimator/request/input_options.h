#pragma once

#include <string>
#include <vector>

#include "estimator/hardware/quantity_text.h"
#include "estimator/system/system.h"
#include "estimator/timeline/input_chain.h"

namespace dlcost {

// How items come to the devices of a node.
struct InputOptions {
  std::string item, stored, storage, host_link;
  std::string decode, augment;  // items/s of one core
  int cores = 0;
};

// The stages before the devices, of a node with so many of them; what the options leave open is the
// system's, where there is one. Throws Error without the size of an item.
std::vector<InputStage> StagesOf(const InputOptions& options, const System* system, int devices);

// Items per second; throws Error for anything else.
double ParseItemRate(const std::string& option, const std::string& text);
// A quantity, whose errors name the option.
double ParseWith(const std::string& option, const std::string& text, Dimension dimension);

}  // namespace dlcost
