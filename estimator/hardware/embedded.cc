#include "estimator/hardware/embedded.h"

#include <algorithm>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

std::string_view Text(std::uint32_t offset) { return kEmbeddedTables.texts + offset; }

// The part below hw_specs/.
std::string_view Below(const std::string& path) {
  return std::string_view(path).substr(
      std::min(path.size(), kEmbeddedDatabase.size() + 1 /* the slash */));
}

const EmbeddedFile* FindEmbedded(const std::string& path) {
  if (!IsEmbedded(path)) return nullptr;
  const auto files = kEmbeddedTables.files;
  const auto found = std::lower_bound(
      files.begin(), files.end(), Below(path),
      [](const EmbeddedFile& file, std::string_view name) { return Text(file.path) < name; });
  return found != files.end() && Text(found->path) == Below(path) ? &*found : nullptr;
}

// Reads entries in the order in which embed.cc writes them.
class EntryReader {
 public:
  EntryReader(std::uint32_t first, std::shared_ptr<const std::string> file)
      : at_(kEmbeddedTables.entries.data() + first), file_(std::move(file)) {}

  Entry Read() {
    Entry entry;
    entry.kind = static_cast<Entry::Kind>(*at_++);
    for (std::string* text :
         {&entry.key, &entry.value, &entry.source, &entry.elsewhere, &entry.note, &entry.differs}) {
      *text = Text(*at_++);
    }
    entry.line = static_cast<int>(*at_++);
    entry.file = file_;
    entry.children.resize(*at_++);
    for (Entry& child : entry.children) child = Read();
    return entry;
  }

 private:
  const std::uint32_t* at_;
  std::shared_ptr<const std::string> file_;
};

std::filesystem::path PathOf(const EmbeddedFile& file) {
  return std::string(kEmbeddedDatabase) + "/" + std::string(Text(file.path));
}

}  // namespace

bool IsEmbedded(const std::string& path) { return path.starts_with(kEmbeddedDatabase); }

bool EmbeddedFileExists(const std::string& path) { return FindEmbedded(path) != nullptr; }

std::vector<std::filesystem::path> EmbeddedFiles(const std::string& folder) {
  const std::string_view wanted = Below(folder);
  std::vector<std::filesystem::path> paths;
  for (const EmbeddedFile& file : kEmbeddedTables.files) {
    const std::string_view path = Text(file.path);
    const std::size_t slash = path.rfind('/');
    if (path.substr(0, slash == path.npos ? 0 : slash) == wanted) paths.push_back(PathOf(file));
  }
  return paths;
}

std::optional<std::filesystem::path> LocateEmbedded(const std::string& folder,
                                                    const std::string& name) {
  std::string wanted(Below(folder));
  if (!wanted.empty()) wanted += '/';
  wanted += name;
  const auto names = kEmbeddedTables.names;
  const auto found = std::lower_bound(
      names.begin(), names.end(), wanted,
      [](const EmbeddedName& entry, const std::string& text) { return Text(entry.name) < text; });
  if (found == names.end() || Text(found->name) != wanted) return std::nullopt;
  return PathOf(kEmbeddedTables.files[found->file]);
}

std::vector<std::string> EmbeddedAliases(const std::string& path) {
  std::vector<std::string> aliases;
  const Entry root = LoadEmbedded(path);
  if (const Entry* list = root.Find("aliases")) {
    for (const Entry& alias : list->children) aliases.push_back(alias.value);
  }
  return aliases;
}

Entry LoadEmbedded(const std::string& path) {
  const EmbeddedFile* file = FindEmbedded(path);
  if (file == nullptr) throw Error("{}: not in the built-in database", path);
  return EntryReader(file->entry, std::make_shared<const std::string>(path)).Read();
}

}  // namespace dlcost
