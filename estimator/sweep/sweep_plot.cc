#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "estimator/core/integer.h"
#include "estimator/report/format.h"
#include "estimator/sweep/sweep_render.h"

namespace dlcost {
namespace {

constexpr std::size_t kLines = 16, kMargin = 10, kWidest = 100, kNarrowest = 40;

struct Extent {
  double low = HUGE_VAL, high = -HUGE_VAL;
  void Take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Where a value lies between both ends, in `cells` cells.
  std::size_t Cell(double value, std::size_t cells) const {
    const double share = high > low ? (value - low) / (high - low) : 0;
    return std::min(Truncate<std::size_t>(share * static_cast<double>(cells)), cells - 1);
  }
};

}  // namespace

std::string SweepPlot(const Sweep& sweep, const std::vector<SweepCurve>& curves,
                      std::size_t width) {
  const std::optional<std::size_t> axis = CurveAxis(sweep);
  if (!axis) return "";
  Extent x, y;
  const auto each = [&](auto visit) {
    for (std::size_t c = 0; c < curves.size(); ++c) {
      for (const SweepPoint* point : curves[c].points) {
        const std::optional<double> rate = point->items_per_second();
        const std::int64_t size = point->sizes[*axis];
        if (!rate || size < 1) continue;
        visit(c, std::log10(static_cast<double>(size)), std::log10(*rate));
      }
    }
  };
  each([&](std::size_t, double size, double rate) {
    x.Take(size);
    y.Take(rate);
  });
  if (x.low > x.high) return "";
  const std::size_t columns =
      std::clamp(width == 0 ? std::size_t(80) : width, kNarrowest, kWidest) - kMargin;
  std::vector<std::string> cells(kLines, std::string(columns, ' '));
  const auto letter = [](std::size_t curve) {
    return curve < 26 ? static_cast<char>('a' + curve) : '*';
  };
  each([&](std::size_t curve, double size, double rate) {
    char& cell = cells[kLines - 1 - y.Cell(rate, kLines)][x.Cell(size, columns)];
    cell = cell == ' ' || cell == letter(curve) ? letter(curve) : '#';
  });
  std::string text = "items/s\n";
  for (std::size_t line = 0; line < kLines; ++line) {
    const double rate =
        y.high - (y.high - y.low) * static_cast<double>(line) / static_cast<double>(kLines - 1);
    const std::string label = line % 5 == 0 ? Readable(std::pow(10, rate)) : "";
    cells[line].erase(cells[line].find_last_not_of(' ') + 1);
    text += fmt::format("{:>8} |{}\n", label, cells[line]);
  }
  const std::string from = fmt::format("{:.0f}", std::pow(10, x.low));
  const std::string to = fmt::format("{:.0f}", std::pow(10, x.high));
  text += fmt::format("{:>8} +{}\n{:>10}{}{:>{}}\n", "", std::string(columns, '-'), "", from, to,
                      columns - from.size());
  text +=
      fmt::format("{:>10}{} (both axes are logarithmic; # several)\n", "", sweep.axes[*axis].name);
  for (std::size_t c = 0; c < curves.size(); ++c) {
    text += fmt::format("{:>10}{}: {}\n", "", letter(c), CurveName(sweep, curves[c]));
  }
  return text;
}

}  // namespace dlcost
