#pragma once

#include <string>
#include <utility>
#include <vector>

#include "estimator/hardware/device.h"
#include "estimator/hardware/embedded.h"

namespace dlcost {

// The directories that hold device files, and how to find a device in them.
class DeviceDatabase {
 public:
  // Earlier directories win; kEmbeddedDatabase may be one. A directory that does not exist is an
  // Error when it is used.
  explicit DeviceDatabase(std::vector<std::string> directories);

  // DLCOST_HW_PATH (directories separated by ':') first, then the directory DLCOST_HW_SPECS, or
  // without it the built-in one.
  static DeviceDatabase FromEnvironment(
      const std::string& built_in = std::string(kEmbeddedDatabase));

  // "a100" (an id or an alias, case ignored), or a path to a YAML file ("./my_chip.yaml").
  // `overrides` are what-if values as on the command line: {"memory.bandwidth", "8 TB/s"}. Throws
  // Error for an unknown name (with the nearest one), and for a bad file (file:line). Time-model
  // constants that rows of the devices `left_out` (ids) gave count as never measured.
  Device Find(const std::string& name,
              const std::vector<std::pair<std::string, std::string>>& overrides = {},
              const std::vector<std::string>& left_out = {}) const;

  // All devices, ordered by id.
  std::vector<Device> All() const;
  // Ids of all devices, ordered.
  std::vector<std::string> Ids() const;

  const std::vector<std::string>& directories() const { return directories_; }

 private:
  std::vector<std::string> directories_;
};

// "memory.bandwidth=8TB/s" as {path, value}; Error when there is no '='.
std::pair<std::string, std::string> ParseOverride(const std::string& text);

}  // namespace dlcost
