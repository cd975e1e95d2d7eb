#include "estimator/picture/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"

namespace dlcost {

void DrawTitle(Svg& svg, const std::string& title, const std::string& below,
               const Palette& palette) {
  constexpr std::size_t kLargeColumns = 90, kColumns = 125;  // that have room in 960 pixels
  svg.Text(24, 26, Printable(title, kLargeColumns), {.size = 17, .bold = true});
  svg.Text(24, 45, Printable(below, kColumns), {.colour = palette.muted});
}

void DrawAxisNames(Svg& svg, const Frame& frame, const std::string& x, const std::string& y,
                   const Palette& palette) {
  svg.Text((frame.left + frame.right) / 2, frame.height - 14, x,
           {.anchor = Svg::Anchor::kMiddle, .colour = palette.muted});
  if (!y.empty())
    svg.Text(20, (frame.top + frame.bottom) / 2, y,
             {.anchor = Svg::Anchor::kMiddle, .colour = palette.muted, .turned = -90});
}

Decades Decades::Around(double low, double high) {
  Decades decades{std::floor(low + 1e-9), std::ceil(high - 1e-9)};
  if (decades.high <= decades.low) decades.high = decades.low + 1;
  return decades;
}

void DrawGrid(Svg& svg, const Frame& frame, const Decades& x, const Decades& y,
              const Palette& palette) {
  constexpr double kMost = 8;              // numbers on an axis
  const auto text = [](double exponent) {  // "0.1", "10", "10 G"
    if (exponent < 3) return fmt::format("{:g}", std::pow(10.0, exponent));
    constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
    const auto thousands = std::min<std::size_t>(Truncate<std::size_t>(exponent / 3), 6);
    return fmt::format("{:g} {}", std::pow(10.0, exponent - 3.0 * static_cast<double>(thousands)),
                       kPrefixes[thousands]);
  };
  const auto step = [](const Decades& d) {
    return std::max(1.0, std::ceil((d.high - d.low) / kMost));
  };
  for (double e = x.low; e <= x.high + 1e-9; e += step(x)) {
    const double at = frame.X(x.Share(e));
    svg.Line(at, frame.top, at, frame.bottom, palette.grid);
    svg.Text(at, frame.bottom + 18, text(e),
             {.anchor = Svg::Anchor::kMiddle, .colour = palette.muted});
  }
  for (double e = y.low; e <= y.high + 1e-9; e += step(y)) {
    const double at = frame.Y(y.Share(e));
    svg.Line(frame.left, at, frame.right, at, palette.grid);
    svg.Text(frame.left - 8, at + 4, text(e),
             {.anchor = Svg::Anchor::kEnd, .colour = palette.muted});
  }
}

std::string TitleOf(const Report& report) {
  const std::string& path = report.model.path;
  const std::string name = path.substr(path.rfind('/') + 1);
  return report.device ? name + " on " + report.device->name : name;
}

std::optional<std::size_t> LimiterSeries(const std::string& limiter) {
  struct Colour {
    const char* word;
    std::size_t series;
  };
  // In the order of the page's table (page/base.js).
  constexpr Colour kColours[] = {{"compute", 0}, {"tensor", 0}, {"vector", 4}, {"memory", 1},
                                 {"cache", 2},   {"launch", 3}, {"steps", 2},  {"transforms", 4},
                                 {"parts", 4},   {"power", 5},  {"l2", 2},     {"l3", 2},
                                 {"llc", 2}};
  std::string text = limiter;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Colour& colour : kColours) {
    if (text.find(colour.word) != std::string::npos) return colour.series;
  }
  return std::nullopt;
}

const char* LimiterColour(const std::string& limiter, const Palette& palette) {
  const std::optional<std::size_t> series = LimiterSeries(limiter);
  return series ? palette.series[*series] : palette.other;
}

}  // namespace dlcost
