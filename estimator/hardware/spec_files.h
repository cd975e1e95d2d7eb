#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "estimator/hardware/entry.h"

namespace dlcost {

// Files of a directory of hw_specs/, on the disk or embedded in the program (embedded.h), found by
// id or alias without parsing them: looking up one name must not cost a hundred parsers.

// Whether a name on the command line is a path ("./my_chip.yaml") instead of an id.
bool IsSpecPath(const std::string& name);
bool IsSpecFile(const std::filesystem::path& path);
bool IsSameSpecFile(const std::filesystem::path& a, const std::filesystem::path& b);
// The YAML files of a directory, ordered. Throws Error where there is no such directory.
std::vector<std::filesystem::path> SpecFiles(const std::string& directory);
// The folders with this path below the directories ("runtimes", "systems/links"), of those that
// have one; the built-in one where none has: a database of devices alone needs runtimes, too.
std::vector<std::string> SpecFolders(const std::vector<std::string>& directories,
                                     const std::string& path);
// The file of an id or alias, case ignored, in the first directory that has it; nothing when none
// has it.
std::optional<std::filesystem::path> LocateSpec(const std::vector<std::string>& directories,
                                                const std::string& name);
// Every id and alias, for suggestions.
std::vector<std::string> SpecNames(const std::vector<std::string>& directories);
// As LoadEntries.
Entry LoadSpec(const std::filesystem::path& path);

}  // namespace dlcost
