#include "estimator/sweep/value_list.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

std::vector<std::string> Split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

struct Value {
  double number = 0;
  std::string unit;
};

class Range {
 public:
  Range(const std::string& option, const std::string& text) : option_(option), text_(text) {}

  std::vector<std::string> Values() const {
    const std::vector<std::string> parts = Split(text_, ':');
    if (parts.size() > 3) Fail("a range is FIRST:LAST:STEP or FIRST:LAST:xFACTOR");
    const Value first = ValueOf(parts[0]), last = ValueOf(parts[1]);
    if (first.unit != last.unit) Fail("write both ends in one unit");
    if (!(first.number <= last.number)) Fail("the range runs backwards");
    const bool times = parts.size() < 3 || parts[2].starts_with('x');
    Value step{.number = 2};
    if (parts.size() == 3) step = ValueOf(times ? parts[2].substr(1) : parts[2]);
    if (times ? !step.unit.empty() : step.unit != first.unit) {
      Fail("write the step in the unit of both ends, or as a factor: x2");
    }
    if (times ? !(step.number > 1 && first.number > 0) : !(step.number > 0)) {
      Fail("the step goes nowhere");
    }
    constexpr int kMost = 1000;
    std::vector<std::string> values;
    for (int i = 0;; ++i) {
      const double number =
          times ? first.number * std::pow(step.number, i) : first.number + i * step.number;
      if (number > last.number * (1 + 1e-9)) return values;
      if (i == kMost) Fail("more than {} values", kMost);
      values.push_back(fmt::format("{}{}", number, first.unit));
    }
  }

 private:
  template <typename... Args>
  [[noreturn]] void Fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw Error("{} {}: {}", option_, Printable(text_),
                fmt::format(format, std::forward<Args>(args)...));
  }

  Value ValueOf(const std::string& text) const {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || !std::isfinite(number)) {
      Fail("'{}' does not begin with a number", Printable(text));
    }
    return {number, end};
  }

  const std::string& option_;
  const std::string& text_;
};

}  // namespace

std::vector<std::string> ParseValueList(const std::string& option, const std::string& text) {
  std::vector<std::string> values;
  for (const std::string& part : Split(text, ',')) {
    if (part.empty()) throw Error("{} '{}': an empty name", option, Printable(text));
    if (part.find(':') == std::string::npos) {
      values.push_back(part);
      continue;
    }
    for (std::string& value : Range(option, part).Values()) values.push_back(std::move(value));
  }
  return values;
}

}  // namespace dlcost
