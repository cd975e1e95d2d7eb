#pragma once

#include <string>
#include <unordered_map>
#include <vector>

namespace dlcost {

// Each text of a page once; the rows of its data hold the text's number.
class TextTable {
 public:
  std::size_t Number(const std::string& text) {
    const auto [at, fresh] = numbers_.emplace(text, texts_.size());
    if (fresh) texts_.push_back(text);
    return at->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<std::string> texts_;
};

}  // namespace dlcost
