#pragma once

#include <string>
#include <vector>

namespace dlcost {

// Text aligned in columns: the first left, the others right; a rule under the head.
class Table {
 public:
  // `left` marks further columns to align to the left.
  explicit Table(std::vector<std::string> head, std::vector<bool> left = {});
  void Add(std::vector<std::string> row);
  void AddRule();
  // Every line ends with a newline; no trailing blanks. `max_width` cuts the first column's texts
  // in the middle so that lines fit; 0 leaves them whole.
  std::string Render(std::size_t max_width = 0) const;

 private:
  std::vector<std::string> head_;
  std::vector<bool> left_;
  std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
};

// Columns that `text` takes on a terminal: code points, not bytes.
std::size_t DisplayWidth(const std::string& text);

}  // namespace dlcost
