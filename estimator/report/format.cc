#include "estimator/report/format.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace dlcost {
namespace {

struct Scaled {
  double value;
  const char* prefix;
};

Scaled Scale(double value) {
  constexpr std::array<const char*, 7> kPrefixes = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t i = 0;
  // 999.95 would print as 1000 with four digits: move on to the next prefix.
  while (std::abs(value) >= 999.95 && i + 1 < kPrefixes.size()) {
    value /= 1000;
    ++i;
  }
  return {value, kPrefixes[i]};
}

std::string FourDigits(double value) {
  const double magnitude = std::abs(value);
  if (magnitude >= 99.995) return fmt::format("{:.1f}", value);
  if (magnitude >= 9.9995) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

std::string WithPrefix(double value) {
  const Scaled scaled = Scale(value);
  if (scaled.prefix[0] == '\0' && value == std::floor(value)) return fmt::format("{:.0f} ", value);
  return fmt::format("{} {}", FourDigits(scaled.value), scaled.prefix);
}

}  // namespace

std::string Readable(double value) {
  std::string text = WithPrefix(value);
  if (text.back() == ' ') text.pop_back();
  return text;
}

std::string ReadableBytes(Bytes bytes) { return WithPrefix(bytes.AsDouble()) + "B"; }

std::string ReadableTime(Seconds time) {
  const double s = time.value();
  if (s == 0) return "-";
  if (s < 1e-6) return FourDigits(s * 1e9) + " ns";
  if (s < 1e-3) return FourDigits(s * 1e6) + " us";
  if (s < 1) return FourDigits(s * 1e3) + " ms";
  return FourDigits(s) + " s";
}

std::string ReadableRate(double per_second, const std::string& unit) {
  return WithPrefix(per_second) + unit + "/s";
}

std::string ReadableRatio(double ratio) {
  const double magnitude = std::abs(ratio);
  if (magnitude >= 99.95) return fmt::format("{:.0f}", ratio);
  if (magnitude >= 9.995) return fmt::format("{:.1f}", ratio);
  return fmt::format("{:.2f}", ratio);
}

std::string Percent(double fraction) { return fmt::format("{:.1f}%", fraction * 100); }

}  // namespace dlcost
