#include "estimator/hardware/database.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/hardware/device_schema.h"
#include "estimator/hardware/entry.h"
#include "estimator/hardware/spec_files.h"

namespace dlcost {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxExtends = 8;

// Finds and reads files, each one once.
class Loader {
 public:
  // Constants that rows of the devices `left_out` gave are as if nobody had measured them.
  explicit Loader(const std::vector<std::string>& directories,
                  const std::vector<std::string>& left_out = {})
      : directories_(directories), left_out_(left_out.begin(), left_out.end()) {}

  Device Load(const fs::path& path,
              const std::vector<std::pair<std::string, std::string>>& overrides) {
    std::vector<std::string> files;
    Entry root = Merged(path, files);
    for (const auto& [key, value] : overrides) OverrideEntry(root, key, value);
    Device device = ReadDevice(root, path.stem().string());
    device.files = std::move(files);
    return device;
  }

 private:
  Entry Merged(const fs::path& path, std::vector<std::string>& files) {
    const std::string key = path.lexically_normal().string();
    if (files.size() >= kMaxExtends) throw Error("{}: 'extends' goes round in a circle", key);
    files.push_back(key);
    const Entry& own = Parsed(key);
    Entry root = own;
    FillTiming(path, own, root);
    const Entry* extends = own.Find("extends");
    if (!extends) return root;
    std::erase_if(root.children, [](const Entry& child) { return child.key == "extends"; });
    Entry base = Merged(NamedFile(path, *extends, "extends"), files);
    std::erase_if(base.children, [](const Entry& child) {
      return child.key == "name" || child.key == "aliases" || child.key == "sources";
    });
    return MergeEntries(std::move(base), root);
  }

  const Entry& Parsed(const std::string& path) {
    const auto cached = parsed_.find(path);
    return cached != parsed_.end() ? cached->second
                                   : parsed_.emplace(path, Read(path)).first->second;
  }

  Entry Read(const std::string& path) const {
    Entry root = LoadSpec(path);
    const auto calibration =
        std::find_if(root.children.begin(), root.children.end(),
                     [](const Entry& child) { return child.key == "calibration"; });
    if (left_out_.empty() || calibration == root.children.end()) return root;
    const Entry* measured = calibration->Find("measured");
    if (!measured) return root;
    const bool drop =
        std::any_of(measured->children.begin(), measured->children.end(),
                    [&](const Entry& device) { return left_out_.count(device.value) > 0; });
    if (!drop) return root;
    std::erase_if(calibration->children,
                  [](const Entry& child) { return child.key == "measured"; });
    std::erase_if(root.children, [](const Entry& child) { return child.key == "timing"; });
    return root;
  }

  // Time-model constants that no measured row gave are those that documents let one assume, or else
  // those of a neighbour: each file of `calibration: {neighbours: ...}` in turn.
  void FillTiming(const fs::path& path, const Entry& own, Entry& root) {
    const Entry* calibration = own.Find("calibration");
    if (!calibration) return;
    if (const Entry* assumed = calibration->Find("assumed")) {
      if (assumed->kind != Entry::Kind::kMap) {
        throw Error("{}: 'assumed' must hold 'key: value' lines", assumed->Where());
      }
      PutBelow(*assumed, root);
    }
    const Entry* neighbours = calibration->Find("neighbours");
    if (!neighbours) return;
    for (const Entry& name : neighbours->children) {
      const std::string key = NamedFile(path, name, "neighbours").lexically_normal().string();
      if (const Entry* timing = Parsed(key).Find("timing")) PutBelow(*timing, root);
    }
  }

  // Adds the constants that root's timing section does not have.
  static void PutBelow(const Entry& constants, Entry& root) {
    const auto mine = std::find_if(root.children.begin(), root.children.end(),
                                   [](const Entry& child) { return child.key == "timing"; });
    Entry merged = mine == root.children.end() ? constants : MergeEntries(constants, *mine);
    merged.key = "timing";
    if (mine == root.children.end()) {
      root.children.push_back(std::move(merged));
    } else {
      *mine = std::move(merged);
    }
  }

  // The file that an entry under `key` of the file `from` names: a device, or a path.
  fs::path NamedFile(const fs::path& from, const Entry& entry, std::string_view key) {
    if (entry.kind != Entry::Kind::kValue) {
      throw Error("{}: '{}' names one device or file", entry.Where(), key);
    }
    const std::string& name = entry.value;
    std::vector<fs::path> places = {from.parent_path()};
    places.insert(places.end(), directories_.begin(), directories_.end());
    for (const fs::path& place : places) {
      fs::path file = place / name;
      if (file.extension() != ".yaml") file += ".yaml";
      if (IsSpecFile(file) && !IsSameSpecFile(file, from)) return file;
    }
    if (const auto found = LocateSpec(directories_, name)) return *found;
    throw Error("{}: {} unknown '{}'", entry.Where(), key, Printable(name));
  }

  const std::vector<std::string>& directories_;
  const std::set<std::string> left_out_;
  std::map<std::string, Entry> parsed_;
};

// A name as drivers and shops print it, in the form of ids: "NVIDIA GeForce RTX 4090" is rtx-4090.
std::string AsId(const std::string& name) {
  std::string id;
  for (const char c : name) {
    id +=
        c == ' ' || c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const std::string_view brand : {"nvidia-", "amd-", "intel-", "google-", "geforce-", "tesla-",
                                       "quadro-", "radeon-", "instinct-"}) {
    if (id.starts_with(brand)) id.erase(0, brand.size());
  }
  return id;
}

}  // namespace

DeviceDatabase::DeviceDatabase(std::vector<std::string> directories)
    : directories_(std::move(directories)) {}

DeviceDatabase DeviceDatabase::FromEnvironment(const std::string& built_in) {
  std::vector<std::string> directories;
  if (const char* value = std::getenv("DLCOST_HW_PATH")) {
    std::istringstream list(value);
    for (std::string directory; std::getline(list, directory, ':');) {
      if (!directory.empty()) directories.push_back(directory);
    }
  }
  const char* instead = std::getenv("DLCOST_HW_SPECS");
  directories.push_back(instead != nullptr && *instead != '\0' ? instead : built_in);
  return DeviceDatabase(std::move(directories));
}

Device DeviceDatabase::Find(const std::string& name,
                            const std::vector<std::pair<std::string, std::string>>& overrides,
                            const std::vector<std::string>& left_out) const {
  Loader loader(directories_, left_out);
  if (IsSpecPath(name)) return loader.Load(name, overrides);
  for (const std::string& spelling : {name, AsId(name)}) {
    if (const auto path = LocateSpec(directories_, spelling)) return loader.Load(*path, overrides);
  }
  const std::vector<std::string> known = SpecNames(directories_);
  throw Error(
      "unknown device '{}'{}; `dlcost gpus` lists the known ones, and a path such as "
      "./my_chip.yaml names your own",
      Printable(name), DidYouMean(name, known));
}

std::vector<std::string> DeviceDatabase::Ids() const {
  std::vector<std::string> ids;
  for (const std::string& directory : directories_) {
    for (const fs::path& file : SpecFiles(directory)) ids.push_back(file.stem().string());
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::vector<Device> DeviceDatabase::All() const {
  Loader loader(directories_);
  std::map<std::string, fs::path> files;  // the earlier directory wins
  for (const std::string& directory : directories_) {
    for (const fs::path& file : SpecFiles(directory)) files.emplace(file.stem().string(), file);
  }
  std::vector<Device> devices;
  for (const auto& [id, file] : files) devices.push_back(loader.Load(file, {}));
  return devices;
}

std::pair<std::string, std::string> ParseOverride(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw Error("--set '{}': write it as in --set memory.bandwidth=8TB/s", Printable(text));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace dlcost
