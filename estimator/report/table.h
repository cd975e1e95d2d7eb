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
  // The columns of these heads may go, the first of them first, where lines are short.
  void MayDrop(const std::vector<std::string>& heads);
  // Every line ends with a newline; no trailing blanks. So that lines fit into `max_width` columns
  // (0: any number), texts are cut in the middle, those of the first column last; then columns are
  // dropped.
  std::string Render(std::size_t max_width = 0) const;

 private:
  std::vector<std::string> head_;
  std::vector<bool> left_;
  std::vector<std::size_t> Widths(std::size_t max_width) const;

  std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
  std::vector<std::size_t> droppable_;
};

// Columns that `text` takes on a terminal: code points, not bytes.
std::size_t DisplayWidth(const std::string& text);

}  // namespace dlcost
