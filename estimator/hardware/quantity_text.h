#pragma once

#include <string>
#include <string_view>

namespace dlcost {

// What a number written with a unit measures.
enum class Dimension {
  kByteSize,       // "40 MiB", "80 GB"
  kByteRate,       // "2039 GB/s"
  kOperationRate,  // "312 TFLOP/s", "624 TOP/s"
  kPerClock,       // "2048/clk"
  kFrequency,      // "1410 MHz"
  kPower,          // "400 W"
  kNumber,         // a plain positive integer: "108"
  kTime,           // "2.2 us"; it may be zero
  kShare,          // "85 %", "0.85"
  kBytesPerClock,  // "32"
  kConstant,       // a time-model constant: "2.2 us", "85 %", "0.9", "40 MiB", "1.4 TB/s", ...
};

// The number in SI units (bytes, byte/s, operations/s, Hz, W, s, 1). Blanks between number and
// unit do not matter; the unit does, its case included ("MB" is 10^6 bytes, "MiB" 2^20).
// Throws Error, naming the units that would do, for anything else, for negative and for infinite
// numbers, and for zero unless it is a time or a constant.
double ParseQuantity(std::string_view text, Dimension dimension);

// `text` without the blanks around it.
inline std::string_view WithoutBlanks(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace dlcost
