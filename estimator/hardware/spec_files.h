#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dlcost {

// Files of a directory of hw_specs/, found by id or alias without parsing them.

// Whether a name on the command line is a path ("./my_chip.yaml") instead of an id.
bool IsSpecPath(const std::string& name);
// The YAML files of a directory, ordered. Throws Error where there is no such directory.
std::vector<std::filesystem::path> SpecFiles(const std::string& directory);
// The file of an id or alias, case ignored, in the first directory that has it; nothing when none
// has it.
std::optional<std::filesystem::path> LocateSpec(const std::vector<std::string>& directories,
                                                const std::string& name);
// Every id and alias, for suggestions.
std::vector<std::string> SpecNames(const std::vector<std::string>& directories);

}  // namespace dlcost
