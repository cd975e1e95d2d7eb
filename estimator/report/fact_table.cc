#include "estimator/report/fact_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dlcost {

std::string SourceList::Reference(const std::string& source) {
  if (source.empty()) return "";
  if (source.starts_with("derived") || source.starts_with("given on")) return source;
  const auto known = std::find(sources_.begin(), sources_.end(), source);
  const auto number = known - sources_.begin() + 1;
  if (known == sources_.end()) sources_.push_back(source);
  return fmt::format("[{}]", number);
}

std::string SourceList::Text() const {
  std::string text;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    text += fmt::format("  [{}] {}\n", i + 1, sources_[i]);
  }
  return text;
}

std::string FactTable(const std::vector<Fact>& facts, SourceList& sources) {
  std::size_t name_width = 0, value_width = 0;
  for (const Fact& fact : facts) {
    name_width = std::max(name_width, fact.path.size());
    value_width = std::max(value_width, fact.text.size());
  }
  std::string text, section;
  for (const Fact& fact : facts) {
    const std::string own = fact.path.substr(0, fact.path.find('.'));
    if (!section.empty() && own != section) text += "\n";
    section = own;
    std::string line = fmt::format("  {:<{}}  {:<{}}  {}", fact.path, name_width, fact.text,
                                   value_width, sources.Reference(fact.source));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    const std::string indent(name_width + 4, ' ');
    if (!fact.elsewhere.empty()) text += fmt::format("{}elsewhere: {}\n", indent, fact.elsewhere);
    if (!fact.note.empty()) text += fmt::format("{}note: {}\n", indent, fact.note);
    if (!fact.differs.empty()) {
      text += fmt::format("{}differs from units x operations x clock: {}\n", indent, fact.differs);
    }
  }
  return text;
}

nlohmann::ordered_json FactsJson(const std::vector<Fact>& facts) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Fact& fact : facts) {
    nlohmann::ordered_json one = {
        {"path", fact.path}, {"value", fact.text}, {"source", fact.source}};
    if (!fact.elsewhere.empty()) one["elsewhere"] = fact.elsewhere;
    if (!fact.note.empty()) one["note"] = fact.note;
    if (!fact.differs.empty()) one["differs"] = fact.differs;
    json.push_back(std::move(one));
  }
  return json;
}

}  // namespace dlcost
