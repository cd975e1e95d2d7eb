#include "estimator/hardware/section_reader.h"

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"

namespace dlcost {

void SectionReader::Require(bool present, const char* key, const char* example) const {
  if (!present) throw Error("{}: no '{}' given, as in '{}'", root_.Where(), key, example);
}

void SectionReader::Section(const Entry& entry, const std::string& path, const Keys& keys) {
  WantMap(entry);
  for (const Entry& child : entry.children) {
    const auto is_child = [&](const auto& key) { return key.first == child.key; };
    if (std::none_of(keys.begin(), keys.end(), is_child)) {
      std::vector<std::string> names;
      for (const auto& [name, setter] : keys) names.push_back(name);
      throw Error("{}: unknown key '{}'{}{}", child.Where(), Printable(child.key),
                  path.empty() ? "" : " in '" + path + "'", DidYouMean(child.key, names));
    }
  }
  for (const auto& [name, setter] : keys) {
    if (const Entry* child = entry.Find(name)) {
      setter(*child, path.empty() ? name : path + "." + name);
    }
  }
}

void SectionReader::WantMap(const Entry& entry) {
  if (entry.kind != Entry::Kind::kMap) {
    throw Error("{}: '{}' must hold 'key: value' lines", entry.Where(), Printable(entry.key));
  }
}

const std::string& SectionReader::WantText(const Entry& entry) {
  if (entry.kind != Entry::Kind::kValue || entry.value.empty()) {
    throw Error("{}: '{}' must be a single value", entry.Where(), Printable(entry.key));
  }
  return entry.value;
}

void SectionReader::WantList(const Entry& entry) {
  if (entry.kind != Entry::Kind::kList) {
    throw Error("{}: '{}' must be a list", entry.Where(), Printable(entry.key));
  }
}

const std::string& SectionReader::WantOneOf(const Entry& entry,
                                            const std::vector<std::string>& allowed) {
  const std::string& text = WantText(entry);
  if (std::find(allowed.begin(), allowed.end(), text) == allowed.end()) {
    throw Error("{}: {} '{}' is none of {}{}", entry.Where(), entry.key, Printable(text),
                fmt::format("{}", fmt::join(allowed, ", ")), DidYouMean(text, allowed));
  }
  return text;
}

void SectionReader::AddFact(const Entry& entry, const std::string& path) {
  facts_.push_back({path, entry.value, entry.source, entry.elsewhere, entry.note, entry.differs});
}

double SectionReader::Quantity(const Entry& entry, const std::string& path, Dimension dimension) {
  const std::string& text = WantText(entry);
  AddFact(entry, path);
  try {
    return ParseQuantity(text, dimension);
  } catch (const Error& error) {
    throw error.At(entry.Where() + ": " + Printable(path));
  }
}

SectionReader::Setter SectionReader::TextsInto(std::vector<std::string>& field) {
  return [&field](const Entry& entry, const std::string&) {
    WantList(entry);
    for (const Entry& text : entry.children) field.push_back(WantText(text));
  };
}

}  // namespace dlcost
