#pragma once

#include <string>
#include <vector>

#include "estimator/system/system.h"

namespace dlcost {

// The systems of `systems/` in each directory of devices, and the families of links beside them in
// `systems/links/`.
class SystemDatabase {
 public:
  // `directories` are those of the device database; earlier ones win. One without systems is
  // passed over (SpecFolders).
  explicit SystemDatabase(const std::vector<std::string>& directories);

  // "dgx-h100" (an id or an alias, case ignored), or a path to a YAML file. Throws Error for an
  // unknown name, with the nearest one, and for a bad file (file:line).
  System Find(const std::string& name) const;
  // All systems, ordered by id.
  std::vector<System> All() const;
  // The constants of a family of links, "nvlink4"; Error as for Find.
  LinkTiming FindLink(const std::string& name) const;

 private:
  System Load(const std::string& path) const;
  std::string LinkFile(const std::string& name) const;

  std::vector<std::string> directories_, link_directories_;
};

}  // namespace dlcost
