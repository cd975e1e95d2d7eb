#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlcost {

// A number as profilers write it, with what stands behind it: "134,221,568", "97.85%",
// "4.455447GB/s" (unit "GB/s"), "Low (3)" (3). Nothing for text, "n/a", "nan", "inf", "<OVERFLOW>",
// and for a comma that does not group thousands.
struct WrittenNumber {
  double value = 0;
  std::string unit;  // "" when none stands behind it
};
std::optional<WrittenNumber> ParseNumber(std::string_view text);

// A decimal integer; nothing for anything else.
std::optional<std::int64_t> ParseInteger(std::string_view text);

// Microseconds, as text, to whole nanoseconds: exact, where a double would round the microseconds
// since 1970 to a quarter of one. Nothing for text and for times beyond 126 years.
std::optional<std::int64_t> ParseMicroseconds(std::string_view text);

enum class CounterDimension { kNone, kSeconds, kBytes, kBytesPerSecond, kFraction, kHertz };

struct Unit {
  CounterDimension dimension = CounterDimension::kNone;
  double scale = 1;  // to the base unit: seconds, bytes, bytes per second, a fraction, hertz
};
// "ns", "usecond", "Kbyte", "GB/s", "%", "cycle/nsecond", ... The prefixes of bytes are powers of
// 1000, or of 1024 when `binary` (nvprof means KiB by KB; "KiB" is binary anyway). Nothing for a
// unit that is not known; "" and plain counts ("inst", "sector", "warp") are kNone.
std::optional<Unit> ParseUnit(std::string_view text, bool binary = false);

}  // namespace dlcost
