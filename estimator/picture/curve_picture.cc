#include <algorithm>
#include <cmath>

#include "estimator/core/error.h"
#include "estimator/picture/frame.h"
#include "estimator/picture/pictures.h"

namespace dlcost {

std::string CurvePicture(const std::vector<CurveSeries>& series, const std::string& x,
                         const std::string& y, const PictureOptions& options) {
  const Palette& palette = PaletteOf(options.dark);
  Frame frame;
  double x0 = HUGE_VAL, x1 = -HUGE_VAL, y0 = HUGE_VAL, y1 = -HUGE_VAL;
  for (const CurveSeries& one : series) {
    for (const auto& [size, value] : one.points) {
      x0 = std::min(x0, std::log10(size)), x1 = std::max(x1, std::log10(size));
      y0 = std::min(y0, std::log10(value)), y1 = std::max(y1, std::log10(value));
    }
  }
  if (x0 > x1) throw Error("there is no point to draw: times need --gpu");
  Svg svg(frame.width, frame.height, palette);
  DrawTitle(svg, options.title, y + " over " + x, palette);
  const Decades across = Decades::Around(x0, x1), up = Decades::Around(y0, y1);
  DrawGrid(svg, frame, across, up, palette);
  DrawAxisNames(svg, frame, x, y, palette);
  constexpr std::size_t kMostNames = 12;
  for (std::size_t s = 0; s < series.size(); ++s) {
    const char* colour = palette.series[s % palette.series.size()];
    std::vector<Svg::Point> points;
    for (const auto& [size, value] : series[s].points) {
      points.push_back(
          {frame.X(across.Share(std::log10(size))), frame.Y(up.Share(std::log10(value)))});
    }
    svg.Path(points, colour);
    for (const Svg::Point& point : points)
      svg.Circle(point.x, point.y, 3.5, colour, series[s].name);
    if (s >= kMostNames) continue;
    const double at =
        frame.bottom - 14 - 18 * static_cast<double>(std::min(series.size(), kMostNames) - 1 - s);
    const std::string name = Printable(series[s].name, 60);
    svg.Circle(frame.right - 14, at - 4, 5, colour, name);
    svg.Text(frame.right - 26, at, name,
             {.anchor = Svg::Anchor::kEnd, .colour = palette.muted, .halo = true});
  }
  return std::move(svg).Finish();
}

}  // namespace dlcost
