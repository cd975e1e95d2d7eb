#include "estimator/hardware/spec_files.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

#include "estimator/core/error.h"
#include "estimator/hardware/embedded.h"

namespace dlcost {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHeadSize = 4096;  // aliases stand near the top of a file

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Reads the `aliases:` list in either YAML style; the reader proper checks it when the file is
// used.
std::vector<std::string> ScanAliases(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string head(kHeadSize, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(in.gcount()));
  std::istringstream lines(head);
  std::vector<std::string> aliases;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, line.find(" #"));
    if (line.starts_with("aliases:")) {
      inside = true;
      line = line.substr(8);
    } else if (!line.starts_with(' ') && !line.starts_with('-')) {
      inside = false;
    }
    if (!inside) continue;
    for (char& c : line) {
      if (std::string_view("[],'\"\r").find(c) != std::string_view::npos) c = ' ';
    }
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (word != "-") aliases.push_back(word);
    }
  }
  return aliases;
}

}  // namespace

bool IsSpecPath(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".yaml") || name.ends_with(".yml");
}

bool IsSpecFile(const fs::path& path) {
  if (IsEmbedded(path.string())) return EmbeddedFileExists(path.string());
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool IsSameSpecFile(const fs::path& a, const fs::path& b) {
  if (IsEmbedded(a.string()) || IsEmbedded(b.string())) {
    return a.lexically_normal() == b.lexically_normal();
  }
  std::error_code error;
  return fs::equivalent(a, b, error);
}

std::vector<fs::path> SpecFiles(const std::string& directory) {
  if (IsEmbedded(directory)) return EmbeddedFiles(directory);
  std::error_code error;
  fs::directory_iterator it(directory, error);
  if (error) {
    throw Error(
        "no device database at '{}' ({}); DLCOST_HW_PATH names directories of yours, "
        "DLCOST_HW_SPECS one instead of the built-in database",
        directory, error.message());
  }
  std::vector<fs::path> files;
  for (; it != fs::directory_iterator(); it.increment(error)) {
    if (error) break;
    if (it->path().extension() == ".yaml") files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> SpecFolders(const std::vector<std::string>& directories,
                                     const std::string& path) {
  std::vector<std::string> folders;
  const auto add = [&](const fs::path& directory) {
    const std::string folder = (directory / path).string();
    std::error_code error;
    if (IsEmbedded(folder) ? !EmbeddedFiles(folder).empty() : fs::is_directory(folder, error)) {
      folders.push_back(folder);
    }
  };
  for (const fs::path directory : directories) add(directory);
  if (folders.empty()) add(kEmbeddedDatabase);
  return folders;
}

std::optional<fs::path> LocateSpec(const std::vector<std::string>& directories,
                                   const std::string& name) {
  const std::string wanted = Lower(name);
  for (const std::string& directory : directories) {
    if (IsEmbedded(directory)) {
      if (auto file = LocateEmbedded(directory, wanted)) return file;
      continue;
    }
    const fs::path direct = fs::path(directory) / (wanted + ".yaml");
    if (IsSpecFile(direct)) return direct;
    for (const fs::path& file : SpecFiles(directory)) {
      for (const std::string& alias : ScanAliases(file)) {
        if (Lower(alias) == wanted) return file;
      }
    }
  }
  return std::nullopt;
}

std::vector<std::string> SpecNames(const std::vector<std::string>& directories) {
  std::vector<std::string> names;
  for (const std::string& directory : directories) {
    for (const fs::path& file : SpecFiles(directory)) {
      names.push_back(file.stem().string());
      for (std::string& alias :
           IsEmbedded(directory) ? EmbeddedAliases(file.string()) : ScanAliases(file)) {
        names.push_back(std::move(alias));
      }
    }
  }
  return names;
}

Entry LoadSpec(const fs::path& path) {
  return IsEmbedded(path.string()) ? LoadEmbedded(path.string()) : LoadEntries(path.string());
}

}  // namespace dlcost
