#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dlcost {

// An axis that a file's annotations split among devices.
struct AnnotatedAxis {
  std::string node, tensor;
  std::int64_t axis = 0;  // negative: from the back
  std::int64_t shards = 1;
};

// How a file says that its graph runs on several devices (IR version 11 and later:
// DeviceConfigurationProto of the model, NodeDeviceConfigurationProto of its nodes).
struct DeviceConfiguration {
  std::string name;
  std::int64_t devices = 1;
  std::vector<AnnotatedAxis> axes;
  std::vector<AnnotatedAxis> whole;     // tensors that are said to be on every device; axis unused
  std::map<std::string, int> stage_of;  // pipeline stages, by the first output of a node
};

// Those of a file, none where it has none. Throws Error for annotations that name a configuration
// or an axis that is not there, or that no reader could honour: shards of unequal sizes, an axis
// split twice.
std::vector<DeviceConfiguration> ReadDeviceConfigurations(const std::string& path);
std::vector<DeviceConfiguration> DeviceConfigurationsFromBytes(std::string_view bytes,
                                                               const std::string& path);

}  // namespace dlcost
