#include "estimator/report/wrap.h"

#include <algorithm>
#include <string_view>

#include "estimator/core/utf8.h"

namespace dlcost {
namespace {

// Without escape sequences such as "\033[1m".
std::string Plain(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {
      i = std::min(text.find('m', i), text.size());
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::size_t ColumnsOf(std::string_view text) { return DisplayWidth(Plain(text)); }

// Where the lines after the first begin.
std::size_t HangOf(const std::string& line, std::size_t width) {
  constexpr std::size_t kLabel = 10;  // of reports: "model     "
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  std::size_t hang = begin == 0 ? 0 : begin + 2;
  if (begin == kLabel) hang = kLabel;  // belongs to the label above
  if (begin == 0 && line.size() > kLabel && line.find(' ') < kLabel) {
    const std::size_t text = line.find_first_not_of(' ', line.find(' '));
    if (text == kLabel) hang = kLabel;
  }
  for (std::size_t at = line.find("  ", begin); at != std::string::npos;) {
    const std::size_t text = line.find_first_not_of(' ', at);
    if (text == std::string::npos || DisplayWidth(line.substr(0, text)) > width / 2) break;
    hang = DisplayWidth(line.substr(0, text));
    at = line.find("  ", text);
  }
  return hang;
}

std::string WrapLine(const std::string& line, std::size_t width) {
  if (ColumnsOf(line) <= width) return line;
  const std::string plain = Plain(line);
  if (plain.find_first_not_of('-') == std::string::npos) return std::string(width, '-');  // a rule
  return Wrap(line, width, std::min(HangOf(plain, width), width / 2));
}

}  // namespace

std::string Wrap(const std::string& text, std::size_t width, std::size_t indent) {
  constexpr std::size_t kLeast = 20;  // columns of text that are worth a line
  if (width < indent + kLeast) return text;
  std::string wrapped;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t word = std::min(text.find_first_not_of(' ', at), text.size());
    const std::size_t end = std::min(text.find(' ', word), text.size());
    const std::size_t blanks = word - at, needed = ColumnsOf(text.substr(word, end - word));
    if (column > indent && column + blanks + needed > width) {
      wrapped += "\n" + std::string(indent, ' ');
      column = indent;
    } else {
      wrapped.append(blanks, ' ');
      column += blanks;
    }
    wrapped.append(text, word, end - word);
    column += needed;
    at = end;
  }
  return wrapped;
}

std::string WrapLines(const std::string& text, std::size_t width) {
  if (width == 0) return text;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    out += WrapLine(text.substr(at, end - at), width);
    if (end == std::string::npos) break;
    out += "\n";
    at = end + 1;
  }
  return out;
}

}  // namespace dlcost
