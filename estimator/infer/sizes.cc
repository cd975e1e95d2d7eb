#include "estimator/infer/sizes.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <optional>

#include "estimator/core/error.h"
#include "estimator/core/whole_number.h"

namespace dlcost {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostListed = 100'000'000;  // they are held in memory

std::vector<std::string_view> SplitAt(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view Trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\"");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\"") - first + 1);
}

std::int64_t CountOf(const SizeList::Range& range) {
  if (!range.times) return (range.last - range.first) / range.step + 1;
  std::int64_t count = 0;
  for (std::int64_t size = range.first; size <= range.last; size *= range.step) {
    ++count;
    if (size > kMost / range.step) break;
  }
  return count;
}

void TakeSeen(const std::map<std::int64_t, double>& seen, SizeList& list) {
  for (const auto& [size, weight] : seen) {
    if (weight <= 0) continue;
    list.observed.push_back(size);
    list.weights.push_back(weight);
  }
}

class SizeListParser {
 public:
  SizeListParser(const std::string& option, const std::string& text)
      : option_(option), text_(text) {}

  SizeList Run() {
    SizeList list;
    if (text_.starts_with('@')) {
      ReadFile(text_.substr(1), list);
      return list;
    }
    for (const std::string_view part : SplitAt(text_, ',')) list.ranges.push_back(RangeOf(part));
    return list;
  }

 private:
  template <typename... Args>
  [[noreturn]] void Fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw Error("{} {}: {}", option_, Printable(text_),
                fmt::format(format, std::forward<Args>(args)...));
  }

  std::int64_t Size(std::string_view text) const {
    const std::optional<std::int64_t> size = WholeNumber(text);
    if (text.empty()) Fail("a size is missing");
    if (!size || *size < 0) Fail("'{}' is no size", Printable(std::string(text)));
    return *size;
  }

  SizeList::Range RangeOf(std::string_view text) const {
    const std::vector<std::string_view> parts = SplitAt(text, ':');
    if (parts.size() > 3) Fail("a range is FIRST:LAST:STEP or FIRST:LAST:xFACTOR");
    SizeList::Range range{.first = Size(parts[0])};
    range.last = parts.size() > 1 ? Size(parts[1]) : range.first;
    if (range.last < range.first) {
      Fail("the range runs backwards; write {}:{}", range.last, range.first);
    }
    if (parts.size() < 3) return range;
    range.times = parts[2].starts_with('x');
    range.step = Size(parts[2].substr(range.times ? 1 : 0));
    if (range.step < (range.times ? 2 : 1)) Fail("a step of {} goes nowhere", parts[2]);
    if (range.times && range.first == 0) Fail("0 times {} goes nowhere", range.step);
    return range;
  }

  // A size in the first column, how often it was seen in the second; a heading may come first.
  void ReadFile(const std::string& path, SizeList& list) const {
    std::ifstream file(path);
    if (!file) Fail("cannot read the file");
    std::map<std::int64_t, double> seen;
    std::string line;
    for (std::int64_t number = 1; std::getline(file, line); ++number) {
      const std::vector<std::string_view> columns = SplitAt(line, ',');
      const std::string_view first = Trim(columns[0]);
      if (first.empty() && columns.size() == 1) continue;
      const std::optional<std::int64_t> size = WholeNumber(first);
      if (!size && number == 1) continue;
      if (!size || *size < 0) {
        Fail("line {}: '{}' is no size", number, Printable(std::string(first)));
      }
      seen[*size] += columns.size() > 1 ? Weight(Trim(columns[1]), number) : 1;
    }
    TakeSeen(seen, list);
    if (list.observed.empty()) Fail("the file holds no sizes");
  }

  double Weight(std::string_view text, std::int64_t line) const {
    const std::string copy(text);
    char* end = nullptr;
    const double weight = std::strtod(copy.c_str(), &end);
    if (copy.empty() || *end != '\0' || !std::isfinite(weight) || weight < 0) {
      Fail("line {}: '{}' is no weight", line, Printable(copy));
    }
    return weight;
  }

  const std::string& option_;
  const std::string& text_;
};

}  // namespace

SizeList ListedSizes(const std::vector<std::int64_t>& sizes) {
  SizeList list;
  for (const std::int64_t size : sizes) {
    if (size < 0) throw Error("size {} is negative", size);
    list.ranges.push_back({.first = size, .last = size});
  }
  return list;
}

SizeList ObservedSizes(const std::string& what, const std::vector<std::int64_t>& sizes,
                       const std::vector<double>& weights) {
  std::map<std::int64_t, double> seen;
  for (std::size_t i = 0; i < std::min(sizes.size(), weights.size()); ++i) {
    if (sizes[i] < 0 || !std::isfinite(weights[i]) || weights[i] < 0) {
      throw Error("{}: size {} with weight {}: neither may be below 0", what, sizes[i], weights[i]);
    }
    seen[sizes[i]] += weights[i];
  }
  SizeList list;
  TakeSeen(seen, list);
  if (list.observed.empty()) throw Error("{}: no size was observed", what);
  return list;
}

std::int64_t SizeList::Count() const {
  if (IsDistribution()) return static_cast<std::int64_t>(observed.size());
  std::int64_t count = 0;
  for (const Range& range : ranges) {
    const std::int64_t more = CountOf(range);
    count = more > kMost - count ? kMost : count + more;
  }
  return count;
}

std::vector<std::int64_t> SizeList::Sizes() const {
  if (IsDistribution()) return observed;
  if (Count() > kMostListed) throw Error("{} sizes of one dimension are too many", Count());
  std::vector<std::int64_t> sizes;
  for (const Range& range : ranges) {
    std::int64_t size = range.first;
    for (std::int64_t left = CountOf(range); left > 0; --left) {
      sizes.push_back(size);
      if (left > 1) size = range.times ? size * range.step : size + range.step;
    }
  }
  return sizes;
}

bool IsSizeList(const std::string& text) {
  return text.starts_with('@') || text.find_first_of(",:") != std::string::npos;
}

SizeList ParseSizeList(const std::string& option, const std::string& text) {
  return SizeListParser(option, text).Run();
}

}  // namespace dlcost
