#include "estimator/report/table.h"

#include <algorithm>

#include "estimator/core/error.h"

namespace dlcost {

std::size_t DisplayWidth(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

Table::Table(std::vector<std::string> head, std::vector<bool> left)
    : head_(std::move(head)), left_(std::move(left)) {
  left_.resize(head_.size(), false);
  left_[0] = true;
}

void Table::Add(std::vector<std::string> row) {
  row.resize(head_.size());
  rows_.push_back(std::move(row));
}

void Table::AddRule() { rows_.emplace_back(); }

std::string Table::Render(std::size_t max_width) const {
  constexpr std::size_t kLeastFirst = 16;
  std::vector<std::size_t> widths;
  for (const std::string& cell : head_) widths.push_back(DisplayWidth(cell));
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], DisplayWidth(row[c]));
    }
  }
  std::size_t total = 2 * (widths.size() - 1);
  for (const std::size_t width : widths) total += width;
  if (max_width != 0 && total > max_width) {
    const std::size_t excess = total - max_width;
    widths[0] =
        widths[0] > kLeastFirst + excess ? widths[0] - excess : std::min(widths[0], kLeastFirst);
    total = 2 * (widths.size() - 1);
    for (const std::size_t width : widths) total += width;
  }
  std::string out;
  const auto line = [&](const std::vector<std::string>& row) {
    std::string text;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string cell =
          DisplayWidth(row[c]) > widths[c] ? Printable(row[c], widths[c]) : row[c];
      const std::size_t shown = DisplayWidth(cell);
      const std::string pad(widths[c] > shown ? widths[c] - shown : 0, ' ');
      if (c > 0) text += "  ";
      text += left_[c] ? cell + pad : pad + cell;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  const std::string rule(total, '-');
  line(head_);
  out += rule + "\n";
  for (const auto& row : rows_) {
    if (row.empty()) {
      out += rule + "\n";
    } else {
      line(row);
    }
  }
  return out;
}

}  // namespace dlcost
