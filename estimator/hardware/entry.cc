#include "estimator/hardware/entry.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/hardware/quantity_text.h"
#include "estimator/hardware/yaml_tree.h"

namespace dlcost {
namespace {

constexpr std::size_t kMaxFileSize = 1 << 20;
constexpr char kDerived[] = "derived";  // "[derived from 80 SM x 512/clk x 1530 MHz]"

// Replaces the keys of `sources:` by their texts, throughout one file.
class SourceResolver {
 public:
  explicit SourceResolver(const Entry& root) {
    const Entry* sources = root.Find("sources");
    if (!sources) return;
    if (sources->kind != Entry::Kind::kMap) {
      throw Error("{}: 'sources' must map short names to documents", sources->Where());
    }
    for (const Entry& source : sources->children) {
      if (source.kind != Entry::Kind::kValue) {
        throw Error("{}: a source is one line of text", source.Where());
      }
      texts_[source.key] = source.value;
      names_.push_back(source.key);
    }
  }

  void Resolve(Entry& entry, std::string inherited) {
    if (entry.kind == Entry::Kind::kList) return;
    if (entry.kind == Entry::Kind::kValue) {
      SplitShortForm(entry);
    } else if (entry.Find("value")) {
      TakeLongForm(entry);
    } else {
      const auto it = std::find_if(entry.children.begin(), entry.children.end(),
                                   [](const Entry& child) { return child.key == "source"; });
      if (it != entry.children.end()) {
        inherited = Text(it->value, *it);
        entry.children.erase(it);
      }
      for (Entry& child : entry.children) {
        if (child.key != "sources") Resolve(child, inherited);
      }
      return;
    }
    entry.source = entry.source.empty() ? inherited : Text(entry.source, entry);
  }

 private:
  static void SplitShortForm(Entry& entry) {
    const std::string& text = entry.value;
    const auto open = text.rfind(" [");
    if (open == std::string::npos || text.back() != ']') return;
    entry.source = text.substr(open + 2, text.size() - open - 3);
    entry.value = WithoutBlanks(text.substr(0, open));
  }

  static void TakeLongForm(Entry& entry) {
    static const std::vector<std::string> kKeys = {"value", "source", "elsewhere", "note",
                                                   "differs"};
    std::string Entry::*const fields[] = {&Entry::value, &Entry::source, &Entry::elsewhere,
                                          &Entry::note, &Entry::differs};
    const std::vector<Entry> parts = std::move(entry.children);
    entry.children.clear();
    entry.kind = Entry::Kind::kValue;
    for (const Entry& part : parts) {
      const auto key = std::find(kKeys.begin(), kKeys.end(), part.key);
      if (key == kKeys.end()) {
        throw Error("{}: unknown key '{}' in a value{}", part.Where(), Printable(part.key),
                    DidYouMean(part.key, kKeys));
      }
      if (part.kind != Entry::Kind::kValue) {
        throw Error("{}: '{}' must be one line of text", part.Where(), part.key);
      }
      entry.*fields[key - kKeys.begin()] = part.value;
    }
  }

  std::string Text(const std::string& reference, const Entry& where) const {
    if (reference.starts_with(kDerived)) return reference;
    std::string text;
    for (std::size_t begin = 0; begin <= reference.size();) {
      const std::size_t end = std::min(reference.find(',', begin), reference.size());
      const std::string name(WithoutBlanks(reference.substr(begin, end - begin)));
      const auto it = texts_.find(name);
      if (it == texts_.end()) {
        throw Error(
            "{}: unknown source '{}'{}; list it under 'sources:' or write "
            "'derived from ...'",
            where.Where(), Printable(name), DidYouMean(name, names_));
      }
      if (!text.empty()) text += "; ";
      text += it->second;
      begin = end + 1;
    }
    return text;
  }

  std::map<std::string, std::string> texts_;
  std::vector<std::string> names_;
};

}  // namespace

const Entry* Entry::Find(const std::string& child) const {
  for (const Entry& entry : children) {
    if (entry.key == child) return &entry;
  }
  return nullptr;
}

std::string Entry::Where() const {
  const std::string name = file ? *file : "device";
  return line > 0 ? name + ":" + std::to_string(line) : name;
}

Entry ParseEntries(const std::string& text, const std::string& name) {
  Entry root = ParseYamlTree(text, name);
  SourceResolver(root).Resolve(root, "");
  return root;
}

Entry LoadEntries(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error("{}: cannot be opened", path);
  std::string text(kMaxFileSize + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || (in.gcount() == 0 && !in.eof())) throw Error("{}: cannot be read", path);
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMaxFileSize) throw Error("{}: larger than 1 MiB: not a device file", path);
  return ParseEntries(text, path);
}

Entry MergeEntries(Entry base, const Entry& over) {
  if (base.kind != Entry::Kind::kMap || over.kind != Entry::Kind::kMap) return over;
  Entry merged = std::move(base);
  merged.file = over.file;
  merged.line = over.line;
  for (const Entry& child : over.children) {
    const auto it = std::find_if(merged.children.begin(), merged.children.end(),
                                 [&](const Entry& mine) { return mine.key == child.key; });
    if (it == merged.children.end()) {
      merged.children.push_back(child);
    } else if (child.key == "notes" && child.kind == it->kind) {
      std::vector<Entry> inherited = std::move(it->children);
      *it = child;
      it->children.insert(it->children.end(), std::make_move_iterator(inherited.begin()),
                          std::make_move_iterator(inherited.end()));
    } else {
      *it = MergeEntries(std::move(*it), child);
    }
  }
  return merged;
}

void OverrideEntry(Entry& root, const std::string& path, const std::string& value) {
  Entry* at = &root;
  std::string rest = path;
  const auto file = std::make_shared<std::string>("--set " + Printable(path));
  while (!rest.empty()) {
    // Keys may hold dots ("PCIe 4.0 x16"): the longest key that exists wins.
    std::size_t length = rest.find('.');
    // Constants of the time model have dots in their names, listed or not.
    if (length == std::string::npos || at->key == "timing") length = rest.size();
    Entry* next = nullptr;
    for (Entry& child : at->children) {
      if (rest.starts_with(child.key) && child.key.size() >= length && !child.key.empty() &&
          (child.key.size() == rest.size() || rest[child.key.size()] == '.')) {
        next = &child;
        length = child.key.size();
      }
    }
    if (!next) {
      Entry made;
      made.key = rest.substr(0, length);
      made.kind = length < rest.size() ? Entry::Kind::kMap : Entry::Kind::kValue;
      made.file = file;
      at->children.push_back(std::move(made));
      next = &at->children.back();
    }
    rest = length < rest.size() ? rest.substr(length + 1) : "";
    if (rest.empty() == (next->kind == Entry::Kind::kMap) || next->kind == Entry::Kind::kList) {
      throw Error("{}: '{}' is not a single value", *file, Printable(next->key));
    }
    at = next;
  }
  if (at == &root) throw Error("--set: no name before '='");
  at->value = value;
  at->source = "given on the command line";
  at->elsewhere = at->note = at->differs = "";
  at->file = file;
  at->line = 0;
}

}  // namespace dlcost
