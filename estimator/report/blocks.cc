#include "estimator/report/blocks.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "estimator/core/integer.h"

namespace dlcost {
namespace {

constexpr std::size_t kEighths = 8;
// From one eighth to a full block.
constexpr std::array<const char*, kEighths> kWide = {"▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
constexpr std::array<const char*, kEighths> kHigh = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

}  // namespace

std::string ShareBar(double share, std::size_t columns) {
  const double clamped = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
  auto eighths =
      Truncate<std::size_t>(std::round(clamped * static_cast<double>(columns * kEighths)));
  std::string bar;
  for (; eighths >= kEighths; eighths -= kEighths) bar += kWide[kEighths - 1];
  if (eighths > 0) bar += kWide[eighths - 1];
  return bar;
}

std::string Sparkline(const std::vector<double>& values, std::size_t columns) {
  const double largest = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  if (!std::isfinite(largest) || largest <= 0 || columns == 0) return "";
  const std::size_t bins = std::min(columns, values.size());
  std::string line;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const std::size_t from = bin * values.size() / bins, to = (bin + 1) * values.size() / bins;
    const double value = *std::max_element(values.begin() + static_cast<std::ptrdiff_t>(from),
                                           values.begin() + static_cast<std::ptrdiff_t>(to));
    const double share = std::clamp(value / largest, 0.0, 1.0);
    line +=
        kHigh[std::min(kEighths - 1, Truncate<std::size_t>(share * static_cast<double>(kEighths)))];
  }
  return line;
}

}  // namespace dlcost
