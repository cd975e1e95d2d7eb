#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dlcost {

// The escape sequence that ends a colour.
inline constexpr const char* kPlain = "\033[0m";

// Text aligned in columns: the first left, the others right; a rule under the head.
class Table {
 public:
  // `left` marks further columns to align to the left.
  explicit Table(std::vector<std::string> head, std::vector<bool> left = {});
  // `colour` is an escape sequence that the whole row stands in, such as "\033[31m".
  void Add(std::vector<std::string> row, const std::string& colour = "");
  void AddRule();
  // The columns of these heads may go, the first of them first, where lines are short.
  void MayDrop(const std::vector<std::string>& heads);
  // Where lines are short, the texts of the column of this head stand on lines of their own, below
  // their rows: sentences, and names that are longer than a line has room for.
  void MayStandBelow(const std::string& head);
  // Only the first column and those of these names, none of which goes. A column's name is its head
  // in small letters with '-' for blanks: "limited-by"; "all" keeps every column. Throws Error for
  // a name that no column has, with the nearest one.
  void Keep(const std::vector<std::string>& names);
  // What Render leaves out at this width, by head, in order.
  std::vector<std::string> Dropped(std::size_t max_width) const;
  // Every line ends with a newline; no trailing blanks. So that lines fit into `max_width` columns
  // (0: any number), texts are cut in the middle, those of the first column last; then columns are
  // dropped: those that may be, then others from the last one on, but the first and those of Keep.
  std::string Render(std::size_t max_width = 0) const;
  // The same with a line that tells what was dropped: "80 columns leave out share; " and `remedy`,
  // such as "--columns all shows it".
  std::string Fit(std::size_t max_width, const std::string& remedy) const;

 private:
  std::vector<std::string> head_;
  std::vector<bool> left_;
  struct Layout {
    std::vector<std::size_t> widths;  // 0 of a column that has no place in the lines
    bool below = false;
  };
  Layout Widths(std::size_t max_width) const;
  std::vector<std::size_t> DropOrder() const;

  std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
  std::vector<std::string> colours_;            // of each row
  std::vector<std::size_t> droppable_, hidden_;
  bool kept_ = false;  // by Keep: what is left stays
  std::optional<std::size_t> below_;
};

}  // namespace dlcost
