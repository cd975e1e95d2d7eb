#include "estimator/report/table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/core/utf8.h"
#include "estimator/report/wrap.h"

namespace dlcost {
namespace {

// With two blanks between columns.
std::size_t LineWidth(const std::vector<std::size_t>& widths) {
  std::size_t total = 0;
  for (const std::size_t width : widths) total += width == 0 ? 0 : width + 2;
  return total < 2 ? 0 : total - 2;
}

}  // namespace

Table::Table(std::vector<std::string> head, std::vector<bool> left)
    : head_(std::move(head)), left_(std::move(left)) {
  left_.resize(head_.size(), false);
  left_[0] = true;
}

void Table::Add(std::vector<std::string> row, const std::string& colour) {
  row.resize(head_.size());
  rows_.push_back(std::move(row));
  colours_.push_back(colour);
}

void Table::AddRule() {
  rows_.emplace_back();
  colours_.emplace_back();
}

void Table::MayDrop(const std::vector<std::string>& heads) {
  for (const std::string& head : heads) {
    // Of columns with the same head the next one.
    for (std::size_t c = 1; c < head_.size(); ++c) {
      if (head_[c] != head || std::count(droppable_.begin(), droppable_.end(), c) > 0) continue;
      droppable_.push_back(c);
      break;
    }
  }
}

void Table::MayStandBelow(const std::string& head) {
  const auto found = std::find(head_.begin(), head_.end(), head);
  if (found != head_.end()) below_ = static_cast<std::size_t>(found - head_.begin());
}

void Table::Keep(const std::vector<std::string>& names) {
  std::vector<std::string> known = {"all"};
  for (std::size_t c = 1; c < head_.size(); ++c) {
    std::string name;
    if (head_[c].empty()) {  // belongs to the column before it
      known.push_back(known.back());
      continue;
    }
    for (const char c_of : head_[c]) {
      name += c_of == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c_of)));
    }
    known.push_back(std::move(name));
  }
  droppable_.clear();
  kept_ = true;
  std::vector<bool> kept(head_.size(), false);
  for (const std::string& name : names) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) {
      throw Error("--columns: no column '{}'{}; there are: {}", Printable(name),
                  DidYouMean(name, known), fmt::join(known, ", "));
    }
    if (name == "all") return;
    kept[static_cast<std::size_t>(found - known.begin())] = true;
  }
  for (std::size_t c = 1; c < head_.size(); ++c) {
    if (!kept[c]) hidden_.push_back(c);
  }
}

std::vector<std::string> Table::Dropped(std::size_t max_width) const {
  const std::vector<std::size_t> widths = Widths(max_width).widths;
  std::vector<std::string> dropped;
  for (const std::size_t c : DropOrder()) {
    if (widths[c] == 0 && c != below_ && !head_[c].empty()) dropped.push_back(head_[c]);
  }
  return dropped;
}

std::string Table::Fit(std::size_t max_width, const std::string& remedy) const {
  std::string text = Render(max_width);
  if (const std::vector<std::string> dropped = Dropped(max_width); !dropped.empty()) {
    text +=
        fmt::format("{} columns leave out {}; {}\n", max_width, fmt::join(dropped, ", "), remedy);
  }
  return text;
}

std::vector<std::size_t> Table::DropOrder() const {
  std::vector<std::size_t> order = droppable_;
  for (std::size_t c = head_.size(); !kept_ && c-- > 1;) {
    const bool known = std::find(order.begin(), order.end(), c) != order.end();
    if (!known && std::find(hidden_.begin(), hidden_.end(), c) == hidden_.end()) order.push_back(c);
  }
  return order;
}

Table::Layout Table::Widths(std::size_t max_width) const {
  // Of a text that is cut; the first column tells rows apart.
  constexpr std::size_t kLeastText = 16, kMostFirst = 32;
  std::size_t first_least = std::clamp(max_width / 4, kLeastText, kMostFirst);
  std::vector<std::size_t> widths;
  for (const std::string& cell : head_) widths.push_back(DisplayWidth(cell));
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], DisplayWidth(row[c]));
    }
  }
  for (const std::size_t column : hidden_) widths[column] = 0;
  const auto excess = [&]() -> std::size_t {
    const std::size_t total = LineWidth(widths);
    return max_width != 0 && total > max_width ? total - max_width : 0;
  };
  const auto cut = [&](std::size_t column) {
    const std::size_t least = std::min(widths[column], column == 0 ? first_least : kLeastText);
    widths[column] = std::max(least, widths[column] - std::min(widths[column], excess()));
  };
  // A column without a head belongs to another one, as a picture of it.
  for (const std::size_t column : droppable_) {
    if (head_[column].empty() && excess() > 0) widths[column] = 0;
  }
  const bool below = below_ && excess() > 0;
  if (below) {
    widths[*below_] = 0;
    first_least = std::max(kLeastText, max_width / 2);
  }
  const std::vector<std::size_t> whole = widths;
  const auto cut_texts = [&] {  // the first column says most
    for (std::size_t c = widths.size(); c-- > 0;) {
      if (left_[c] && widths[c] > 0) cut(c);
    }
  };
  cut_texts();
  for (const std::size_t column : DropOrder()) {
    if (excess() == 0) break;
    if (widths[column] == 0) continue;
    widths[column] = 0;
    // What that made room for goes back to the texts.
    for (std::size_t c = 0; c < widths.size(); ++c) {
      if (left_[c] && widths[c] > 0) widths[c] = whole[c];
    }
    cut_texts();
  }
  return {widths, below};
}

std::string Table::Render(std::size_t max_width) const {
  const Layout layout = Widths(max_width);
  const std::vector<std::size_t>& widths = layout.widths;
  std::string out;
  const auto line = [&](const std::vector<std::string>& row, const std::string& colour) {
    std::string text;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (widths[c] == 0) continue;
      const std::string cell =
          DisplayWidth(row[c]) > widths[c] ? Printable(row[c], widths[c]) : row[c];
      const std::size_t shown = DisplayWidth(cell);
      const std::string pad(widths[c] > shown ? widths[c] - shown : 0, ' ');
      if (c > 0) text += "  ";
      text += left_[c] ? cell + pad : pad + cell;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += colour.empty() ? text + "\n" : colour + text + kPlain + "\n";
  };
  const std::string rule(LineWidth(widths), '-');
  line(head_, "");
  out += rule + "\n";
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const std::vector<std::string>& row = rows_[r];
    if (row.empty()) {
      out += rule + "\n";
    } else {
      line(row, colours_[r]);
      constexpr std::size_t kIndent = 4;
      const std::string text = layout.below ? row[*below_] : "";
      if (!text.empty() && text != "-") {
        out += Wrap(std::string(kIndent, ' ') + text, max_width, kIndent) + "\n";
      }
    }
  }
  return out;
}

}  // namespace dlcost
