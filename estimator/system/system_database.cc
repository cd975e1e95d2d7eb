#include "estimator/system/system_database.h"

#include <filesystem>
#include <map>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/hardware/spec_files.h"
#include "estimator/system/system_schema.h"

namespace dlcost {
namespace {

namespace fs = std::filesystem;

constexpr int kMostExtends = 4;

}  // namespace

SystemDatabase::SystemDatabase(const std::vector<std::string>& directories)
    : directories_(SpecFolders(directories, "systems")),
      link_directories_(SpecFolders(directories, "systems/links")) {}

System SystemDatabase::Load(const std::string& path) const {
  const LinkTimingFinder timing = [this](const std::string& name, const std::string& where) {
    try {
      return FindLink(name);
    } catch (const Error& error) {
      throw error.At(where);
    }
  };
  return ReadSystem(LoadSpec(path), fs::path(path).stem().string(), timing);
}

System SystemDatabase::Find(const std::string& name) const {
  if (IsSpecPath(name)) return Load(name);
  if (const auto path = LocateSpec(directories_, name)) return Load(path->string());
  throw Error(
      "unknown system '{}'{}; `dlcost systems` lists the known ones, and a path such as "
      "./my_cluster.yaml names your own",
      Printable(name), DidYouMean(name, SpecNames(directories_)));
}

std::vector<System> SystemDatabase::All() const {
  std::map<std::string, fs::path> files;  // the earlier directory wins
  for (const std::string& directory : directories_) {
    for (const fs::path& file : SpecFiles(directory)) files.emplace(file.stem().string(), file);
  }
  std::vector<System> systems;
  for (const auto& [id, file] : files) systems.push_back(Load(file.string()));
  return systems;
}

LinkTiming SystemDatabase::FindLink(const std::string& name) const {
  Entry root = LoadSpec(LinkFile(name));
  const std::string id = fs::path(*root.file).stem().string();
  for (int depth = 0; const Entry* extends = root.Find("extends"); ++depth) {
    if (depth == kMostExtends) throw Error("{}: 'extends' goes round in a circle", root.Where());
    const std::string base = LinkFile(extends->value);
    std::erase_if(root.children, [](const Entry& child) { return child.key == "extends"; });
    root = MergeEntries(LoadSpec(base), root);
  }
  return ReadLinkTiming(root, id);
}

std::string SystemDatabase::LinkFile(const std::string& name) const {
  if (const auto path = LocateSpec(link_directories_, name)) return path->string();
  const std::vector<std::string> known = SpecNames(link_directories_);
  throw Error("unknown family of links '{}'{}; known: {}", Printable(name), DidYouMean(name, known),
              fmt::format("{}", fmt::join(known, ", ")));
}

}  // namespace dlcost
