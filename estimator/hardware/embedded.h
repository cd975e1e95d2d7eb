#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/hardware/entry.h"

namespace dlcost {

// The database that the program was built with: the files of hw_specs/, parsed at build time
// (embed/embed.cc) into constants, so that no file is looked for and no YAML is parsed at a start.

// Stands for the directory of these files; no directory of a user can have this name in a list
// that ':' separates.
inline constexpr std::string_view kEmbeddedDatabase = "dlcost:hw_specs";

// Where the entries of one file begin, and the file's path below hw_specs/.
struct EmbeddedFile {
  std::uint32_t path;   // offset of a text
  std::uint32_t entry;  // index of its first number
};
// The id or alias of a file in small letters, behind the folder below hw_specs/: "a100",
// "systems/dgx-h100", "systems/links/nvlink4".
struct EmbeddedName {
  std::uint32_t name;  // offset of a text
  std::uint32_t file;  // index of a file
};
// What the generated source holds. Texts end with a NUL. Entries are numbers in the order of a walk
// from the root: kind, six texts in the order of the struct, line, number of children.
struct EmbeddedTables {
  const char* texts;
  std::span<const std::uint32_t> entries;
  std::span<const EmbeddedFile> files;  // by path
  std::span<const EmbeddedName> names;  // by name
};
extern const EmbeddedTables kEmbeddedTables;

// Paths as "dlcost:hw_specs" and "dlcost:hw_specs/arch/ampere-8.0.yaml".
bool IsEmbedded(const std::string& path);
bool EmbeddedFileExists(const std::string& path);
// The files of a folder, ordered, without those of folders in it.
std::vector<std::filesystem::path> EmbeddedFiles(const std::string& folder);
// The file of a folder with this id or alias (in small letters).
std::optional<std::filesystem::path> LocateEmbedded(const std::string& folder,
                                                    const std::string& name);
// Every alias of a file.
std::vector<std::string> EmbeddedAliases(const std::string& path);
// As LoadEntries; throws Error for a file that is not there.
Entry LoadEmbedded(const std::string& path);

}  // namespace dlcost
