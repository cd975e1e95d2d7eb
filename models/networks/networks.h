#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/networks/network.h"

namespace dlcost {

// A setting that a network's builder accepts, for example layers=12.
struct NetworkOption {
  std::string name;
  std::string default_value;
  std::string description;
};

// A network that dlcost can write as an ONNX file.
struct NetworkInfo {
  std::string name;
  std::string description;
  std::vector<NetworkOption> options;
};

using NetworkOptions = std::map<std::string, std::string>;

// Every network, in the order of the listing.
const std::vector<NetworkInfo>& Networks();

// The network as a serialized ONNX ModelProto: structure only. A weight is a ConstantOfShape node,
// so the file is small, complete and runnable, and every weight has its shape and type. Equal
// options give equal bytes. Throws Error for an unknown network or option (with the nearest
// spelling), and for a value that the network cannot be built with.
std::string BuildNetwork(const std::string& name, const NetworkOptions& options = {});
// The same before it is serialized.
networks::Network MakeNetwork(const std::string& name, const NetworkOptions& options = {});

}  // namespace dlcost
