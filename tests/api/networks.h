#pragma once

#include <string>

#include "dlcost/dlcost.h"

namespace dlcost::api {

// Networks of models/networks/, for tests of the public interface.
inline std::string PathOf(const std::string& name) {
  return std::string(DLCOST_SOURCE_DIR) + "/models/networks/" + name + ".onnx";
}
inline Model ReadNetwork(const std::string& name) { return Model::Read(PathOf(name)); }

}  // namespace dlcost::api
