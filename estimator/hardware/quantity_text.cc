#include "estimator/hardware/quantity_text.h"

#include <charconv>
#include <cmath>
#include <vector>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"

namespace dlcost {
namespace {

struct Unit {
  Dimension dimension;
  std::string_view name;
  double factor;
};

constexpr double kKi = 1024;
constexpr Unit kUnits[] = {
    {Dimension::kByteSize, "B", 1},
    {Dimension::kByteSize, "KiB", kKi},
    {Dimension::kByteSize, "MiB", kKi* kKi},
    {Dimension::kByteSize, "GiB", kKi* kKi* kKi},
    {Dimension::kByteSize, "TiB", kKi* kKi* kKi* kKi},
    {Dimension::kByteSize, "kB", 1e3},
    {Dimension::kByteSize, "MB", 1e6},
    {Dimension::kByteSize, "GB", 1e9},
    {Dimension::kByteSize, "TB", 1e12},
    {Dimension::kByteRate, "GB/s", 1e9},
    {Dimension::kByteRate, "TB/s", 1e12},
    {Dimension::kByteRate, "MB/s", 1e6},
    {Dimension::kByteRate, "GiB/s", kKi* kKi* kKi},
    {Dimension::kByteRate, "TiB/s", kKi* kKi* kKi* kKi},
    {Dimension::kByteRate, "Gbit/s", 1e9 / 8},
    {Dimension::kOperationRate, "TFLOP/s", 1e12},
    {Dimension::kOperationRate, "GFLOP/s", 1e9},
    {Dimension::kOperationRate, "PFLOP/s", 1e15},
    {Dimension::kOperationRate, "TOP/s", 1e12},
    {Dimension::kOperationRate, "GOP/s", 1e9},
    {Dimension::kOperationRate, "POP/s", 1e15},
    {Dimension::kPerClock, "/clk", 1},
    {Dimension::kFrequency, "MHz", 1e6},
    {Dimension::kFrequency, "GHz", 1e9},
    {Dimension::kPower, "W", 1},
    {Dimension::kNumber, "", 1},
    {Dimension::kShare, "", 1},
    {Dimension::kShare, "%", 0.01},
    {Dimension::kBytesPerClock, "", 1},
    {Dimension::kTime, "s", 1},
    {Dimension::kTime, "ms", 1e-3},
    {Dimension::kTime, "us", 1e-6},
    {Dimension::kTime, "ns", 1e-9},
};

std::string_view Describe(Dimension dimension) {
  switch (dimension) {
    case Dimension::kByteSize:
      return "a size in bytes, such as '40 MiB' or '80 GB'";
    case Dimension::kByteRate:
      return "a bandwidth, such as '2039 GB/s'";
    case Dimension::kOperationRate:
      return "a rate of operations, such as '312 TFLOP/s' or '624 TOP/s'";
    case Dimension::kPerClock:
      return "a number of operations per clock cycle, such as '2048/clk'";
    case Dimension::kFrequency:
      return "a clock frequency, such as '1410 MHz'";
    case Dimension::kPower:
      return "a power, such as '400 W'";
    case Dimension::kNumber:
      return "a whole number, such as '108'";
    case Dimension::kTime:
      return "a time, such as '2.2 us'";
    case Dimension::kShare:
      return "a share, such as '85 %' or '0.85'";
    case Dimension::kBytesPerClock:
      return "a number of bytes per clock cycle, such as '32'";
    case Dimension::kConstant:
      return "a number with or without a unit, such as '2.2 us', '85 %' or '0.9'";
  }
  return "";
}

// Constants of the time model may be rates, sizes, clocks or counts per cycle as well.
bool Allows(Dimension wanted, Dimension unit) {
  return wanted == unit || (wanted == Dimension::kConstant && unit != Dimension::kPower);
}

}  // namespace

double ParseQuantity(std::string_view text, Dimension dimension) {
  const std::string shown = Printable(std::string(text), 60);
  const std::string_view trimmed = WithoutBlanks(text);
  double number = 0;
  const auto [end, error] =
      std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number);
  if (error != std::errc() || !std::isfinite(number)) {
    throw Error("'{}' is not {}", shown, Describe(dimension));
  }
  const std::string_view written =
      WithoutBlanks(trimmed.substr(static_cast<std::size_t>(end - trimmed.data())));
  std::vector<std::string> names;
  for (const Unit& unit : kUnits) {
    if (!Allows(dimension, unit.dimension)) continue;
    if (unit.name != written) {
      names.emplace_back(unit.name);
      continue;
    }
    const double value = number * unit.factor;
    const bool vanishes = dimension == Dimension::kConstant || dimension == Dimension::kTime;
    if (value < 0 || (value == 0 && !vanishes)) {
      throw Error("'{}' must be greater than zero", shown);
    }
    // 2^62 keeps every size and count far from the limits of checked integers; no device in
    // sight has a rate above 10^21.
    if (value > 1e21 || (dimension == Dimension::kByteSize && value > 0x1p62) ||
        (dimension == Dimension::kNumber && (value > 1e9 || value != std::floor(value)))) {
      throw Error("'{}' is not {}", shown, Describe(dimension));
    }
    return value;
  }
  throw Error("'{}' is not {}{}", shown, Describe(dimension),
              written.empty() ? "" : DidYouMean(written, names));
}

}  // namespace dlcost
