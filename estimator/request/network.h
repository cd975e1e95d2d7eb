#pragma once

#include <string>

#include "models/networks/networks.h"

namespace dlcost {

// The bytes of an ONNX file: a reference network by its name, or what a config.json describes, by
// its path. Throws Error for a network or a setting that there is not.
std::string BuildNetworkOf(const std::string& name, const NetworkOptions& settings);

// Every network with its options and their defaults.
std::string NetworkListText();

}  // namespace dlcost
