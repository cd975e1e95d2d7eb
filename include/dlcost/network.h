#pragma once

#include <map>
#include <string>
#include <vector>

namespace dlcost::api {

// A reference network (docs/networks.md).
struct Network {
  std::string name, description;
  struct Setting {
    std::string name, standard, description;  // `standard`: its value where none is given
  };
  std::vector<Setting> settings;
};
std::vector<Network> Networks();

// The bytes of an ONNX file: structure only, a weight is a ConstantOfShape node. `name`: a network
// of the list, or the path of a transformers config.json. `settings`: {"layers", "24"}. Throws
// Error for a network or a setting that there is not, with the nearest spelling.
std::string BuildNetwork(const std::string& name,
                         const std::map<std::string, std::string>& settings = {});

}  // namespace dlcost::api
