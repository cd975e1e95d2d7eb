#include "estimator/profiles/number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "estimator/core/integer.h"
#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

// Drops commas that group thousands; false when a comma stands elsewhere.
bool DropThousands(std::string_view text, std::string& digits) {
  const std::size_t end = std::min(text.find('.'), text.size());
  const std::size_t first = text.find(',');
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ',') {
      digits += text[i];
      continue;
    }
    // Every comma has a multiple of three digits (and commas) up to the point.
    if (i > end || (end - i) % 4 != 0 || i == 0 || (i == first && i > 4)) return false;
  }
  return true;
}

std::size_t NumberEnd(std::string_view text) {
  std::size_t i = 0;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  while (i < text.size()) {
    const char c = text[i];
    const bool digit = (c >= '0' && c <= '9') || c == '.' || c == ',';
    const bool exponent =
        (c == 'e' || c == 'E') && i + 1 < text.size() && i > 0 &&
        (text[i + 1] == '-' || text[i + 1] == '+' || (text[i + 1] >= '0' && text[i + 1] <= '9'));
    if (exponent) {
      i += 2;
    } else if (digit) {
      ++i;
    } else {
      break;
    }
  }
  return i;
}

}  // namespace

std::optional<WrittenNumber> ParseNumber(std::string_view text) {
  text = Trim(text);
  // nvprof writes a level as a word with its number: "Low (3)".
  if (text.ends_with(')') && !text.starts_with('(')) {
    const std::size_t open = text.rfind('(');
    if (open != std::string_view::npos) {
      text = text.substr(open + 1, text.size() - open - 2);
      if (!ParseInteger(text)) return std::nullopt;
    }
  }
  const std::size_t end = NumberEnd(text);
  std::string digits;
  if (end == 0 || !DropThousands(text.substr(text.front() == '+' ? 1 : 0, end), digits)) {
    return std::nullopt;
  }
  double value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || stop != digits.data() + digits.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  const std::string_view unit = Trim(text.substr(end));
  const bool is_unit = std::all_of(unit.begin(), unit.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '/' || c == '%';
  });
  if (!is_unit || unit.size() > 16) return std::nullopt;
  return WrittenNumber{value, std::string(unit)};
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  text = Trim(text);
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<std::int64_t> ParseMicroseconds(std::string_view text) {
  // Microseconds, so that the nanoseconds of two of them add up within 64 bits.
  constexpr std::int64_t kMost = 4'000'000'000'000'000;
  text = Trim(text);
  const std::size_t point = text.find('.');
  const auto whole = ParseInteger(text.substr(0, point));
  if (!whole || text.find_first_of("eE") != std::string_view::npos) {
    const auto number = ParseNumber(text);  // "1e3", ".5"
    if (!number || !number->unit.empty() || std::abs(number->value) > 1e15) return std::nullopt;
    return RoundToInteger(number->value * 1e3);
  }
  if (*whole < -kMost || *whole > kMost) return std::nullopt;
  std::int64_t fraction = 0;
  if (point != std::string_view::npos) {
    std::string digits(text.substr(point + 1, 3));
    digits.resize(3, '0');
    const auto parsed = ParseInteger(digits);
    if (!parsed || *parsed < 0) return std::nullopt;
    fraction = *parsed;
  }
  return *whole * 1000 + (text.front() == '-' ? -fraction : fraction);
}

std::optional<Unit> ParseUnit(std::string_view text, bool binary) {
  text = Trim(text);
  if (text.empty()) return Unit{};
  if (text == "%") return Unit{CounterDimension::kFraction, 0.01};
  struct Base {
    std::string_view name;
    CounterDimension dimension;
  };
  static constexpr std::array<Base, 13> kBases{{{"second", CounterDimension::kSeconds},
                                                {"seconds", CounterDimension::kSeconds},
                                                {"sec", CounterDimension::kSeconds},
                                                {"s", CounterDimension::kSeconds},
                                                {"bytes", CounterDimension::kBytes},
                                                {"byte", CounterDimension::kBytes},
                                                {"B", CounterDimension::kBytes},
                                                {"byte/second", CounterDimension::kBytesPerSecond},
                                                {"byte/s", CounterDimension::kBytesPerSecond},
                                                {"B/s", CounterDimension::kBytesPerSecond},
                                                {"hz", CounterDimension::kHertz},
                                                {"Hz", CounterDimension::kHertz},
                                                {"cycle/second", CounterDimension::kHertz}}};
  if (text == "cycle/nsecond") return Unit{CounterDimension::kHertz, 1e9};
  if (text == "cycle/usecond") return Unit{CounterDimension::kHertz, 1e6};
  for (const Base& base : kBases) {
    if (!text.ends_with(base.name)) continue;
    const std::string_view prefix = text.substr(0, text.size() - base.name.size());
    const bool bytes = base.dimension == CounterDimension::kBytes ||
                       base.dimension == CounterDimension::kBytesPerSecond;
    const double step = bytes && (binary || prefix.ends_with('i')) ? 1024 : 1000;
    if (prefix.empty()) return Unit{base.dimension, 1};
    if (prefix == "n") return Unit{base.dimension, 1e-9};
    if (prefix == "u" || prefix == "\xc2\xb5" || prefix == "\xce\xbc")
      return Unit{base.dimension, 1e-6};
    if (prefix == "m" && !bytes) return Unit{base.dimension, 1e-3};
    static constexpr std::string_view kLarge = "KMGTP";
    const std::size_t power = kLarge.find(prefix.front() == 'k' ? 'K' : prefix.front());
    if (power != std::string_view::npos && (prefix.size() == 1 || prefix.substr(1) == "i")) {
      return Unit{base.dimension, std::pow(step, static_cast<double>(power + 1))};
    }
  }
  static constexpr std::array<std::string_view, 11> kCounts{
      "inst",    "sector",          "warp",       "block",       "thread", "cycle",
      "request", "register/thread", "inst/cycle", "transaction", "count"};
  if (std::find(kCounts.begin(), kCounts.end(), text) != kCounts.end()) return Unit{};
  return std::nullopt;
}

}  // namespace dlcost
