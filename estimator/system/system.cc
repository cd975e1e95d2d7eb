#include "estimator/system/system.h"

namespace dlcost {

std::string_view Name(LinkShape shape) {
  switch (shape) {
    case LinkShape::kSwitch:
      return "switch";
    case LinkShape::kMesh:
      return "mesh";
    case LinkShape::kTorus:
      return "torus";
    case LinkShape::kTree:
      return "tree";
    case LinkShape::kFatTree:
      return "fat-tree";
    case LinkShape::kRails:
      return "rails";
  }
  return "";
}

int System::MostDevices() const { return links.empty() ? node_devices : links.back().joins; }

}  // namespace dlcost
