#pragma once

#include <string>
#include <string_view>

namespace dlcost {

// The module path of a node, with '/' between modules and none in front: "layer1/0/conv1".
// From `name_scopes` (the exporter's metadata "pkg.torch.onnx.name_scopes", a Python list of dotted
// paths, the last one being the operation) where present, else from a node name such as
// "/layer1/0/conv1/Conv", "/layer1/layer1.0/conv1/Conv" (what tracing makes of the same module) or
// "model/layer1/conv1/Conv2D"; else "".
std::string ScopeOf(std::string_view node_name, std::string_view name_scopes);

}  // namespace dlcost
