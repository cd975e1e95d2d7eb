#include <fmt/format.h>

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/picture/frame.h"
#include "estimator/picture/pictures.h"
#include "estimator/report/format.h"

namespace dlcost {

std::string MemoryPicture(const Report& report, const PictureOptions& options) {
  const Palette& palette = PaletteOf(options.dark);
  const Frame frame;
  const std::size_t count = report.memory.size();
  const auto peak =
      std::max_element(report.memory.begin(), report.memory.end(),
                       [](const MemoryStep& a, const MemoryStep& b) { return a.live < b.live; });
  if (peak == report.memory.end() || peak->live == Bytes()) {
    throw Error("the report has no activation sizes to draw");
  }
  Svg svg(frame.width, frame.height, palette);
  const std::string peak_text = ReadableBytes(peak->live);
  DrawTitle(
      svg, options.title.empty() ? TitleOf(report) : options.title,
      fmt::format("activations that are live while each kernel runs, at most {}; weights ({}) "
                  "come on top",
                  peak_text, ReadableBytes(report.model.weight_bytes)),
      palette);
  DrawAxisNames(svg, frame, fmt::format("kernel 1 to {}, in order of execution", count), "",
                palette);
  const double highest = peak->live.AsDouble();
  constexpr int kLines = 4;
  for (int i = 0; i <= kLines; ++i) {
    const double at = frame.Y(0.94 * i / kLines);
    svg.Line(frame.left, at, frame.right, at, palette.grid);
    svg.Text(frame.left - 8, at + 4, i == 0 ? "0" : Readable(highest * i / kLines) + "B",
             {.anchor = Svg::Anchor::kEnd, .colour = palette.muted});
  }
  // The highest of each bin of a pixel, so that peaks stay.
  const std::size_t bins = std::min<std::size_t>(count, 850);
  std::vector<Svg::Point> points;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const std::size_t from = bin * count / bins, to = (bin + 1) * count / bins;
    Bytes most;
    for (std::size_t i = from; i < to; ++i) most = std::max(most, report.memory[i].live);
    const double y = frame.Y(0.94 * most.AsDouble() / highest);
    const auto x = [&](std::size_t i) {
      return frame.X(static_cast<double>(i) / static_cast<double>(count));
    };
    points.push_back({x(from), y});
    points.push_back({x(to), y});
  }
  svg.Area(points, frame.bottom, palette.series[0]);
  svg.Path(points, palette.series[0]);
  const double at = frame.X((static_cast<double>(peak - report.memory.begin()) + 0.5) /
                            static_cast<double>(count));
  const bool right = at > (frame.left + frame.right) / 2;
  svg.Text(at, frame.Y(0.94) - 8,
           fmt::format("peak {} at {}", peak_text, Printable(report.nodes[peak->node].name, 60)),
           {.anchor = right ? Svg::Anchor::kEnd : Svg::Anchor::kStart, .halo = true});
  return std::move(svg).Finish();
}

}  // namespace dlcost
