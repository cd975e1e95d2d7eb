#include "estimator/picture/svg.h"

#include <fmt/format.h>

#include <iterator>

#include "estimator/core/utf8.h"
#include "estimator/core/xml.h"

namespace dlcost {
const Palette& PaletteOf(bool dark) {
  static const Palette light = {"#fdfdfc",
                                "#14140f",
                                "#55544f",
                                "#e4e3dc",
                                "#c9c8c0",
                                "#3b3a36",
                                {"#2a78d6", "#e2622c", "#17976a", "#b97c00", "#5a48b8", "#c9487d"},
                                "#8a8982"};
  static const Palette night = {"#1c1c1a",
                                "#f3f2ec",
                                "#b4b3aa",
                                "#2e2e2b",
                                "#46453f",
                                "#d4d3ca",
                                {"#4a92ea", "#e8743f", "#2bb384", "#d39a1c", "#9a8ef0", "#e0709c"},
                                "#85847c"};
  return dark ? night : light;
}

Svg::Svg(double width, double height, const Palette& palette) : palette_(palette) {
  out_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"Helvetica, Arial, DejaVu Sans, "
      "sans-serif\">\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"{2}\"/>\n",
      width, height, palette.surface);
}

void Svg::Line(double x1, double y1, double x2, double y2, const char* colour, double width,
               bool dashed) {
  fmt::format_to(std::back_inserter(out_),
                 "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
                 "stroke-width=\"{}\"{}/>\n",
                 x1, y1, x2, y2, colour, width, dashed ? " stroke-dasharray=\"6 4\"" : "");
}

namespace {

std::string PathOf(const std::vector<Svg::Point>& points) {
  std::string path;
  for (const Svg::Point& point : points) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", point.x, point.y);
  }
  return path;
}

}  // namespace

void Svg::Path(const std::vector<Point>& points, const char* colour, double width) {
  if (points.empty()) return;
  out_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"/>\n",
                      PathOf(points), colour, width);
}

void Svg::Area(const std::vector<Point>& points, double floor, const char* colour) {
  if (points.empty()) return;
  out_ += fmt::format(
      "<path d=\"{}L{:.1f} {:.1f}L{:.1f} {:.1f}Z\" fill=\"{}\" "
      "fill-opacity=\"0.22\"/>\n",
      PathOf(points), points.back().x, floor, points.front().x, floor, colour);
}

void Svg::Circle(double x, double y, double radius, const char* colour, const std::string& title) {
  out_ += fmt::format(
      "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\" fill-opacity=\"0.85\" "
      "stroke=\"{}\"><title>{}</title></circle>\n",
      x, y, radius, colour, palette_.surface, EscapeXml(title));
}

void Svg::Rect(double x, double y, double width, double height, const char* colour,
               const std::string& title) {
  out_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" "
      "stroke=\"{}\"><title>{}</title></rect>\n",
      x, y, width, height, colour, palette_.surface, EscapeXml(title));
}

void Svg::Text(double x, double y, const std::string& text, const TextStyle& style) {
  const char* const anchors[] = {"start", "middle", "end"};
  out_ += fmt::format(
      "<text x=\"{0:.1f}\" y=\"{1:.1f}\" font-size=\"{2}\" fill=\"{3}\" text-anchor=\"{4}\"{5}{6}"
      "{7}>{8}</text>\n",
      x, y, style.size, style.colour != nullptr ? style.colour : palette_.text,
      anchors[static_cast<int>(style.anchor)], style.bold ? " font-weight=\"600\"" : "",
      style.halo ? fmt::format(" paint-order=\"stroke\" stroke=\"{}\" stroke-width=\"4\" "
                               "stroke-linejoin=\"round\"",
                               palette_.surface)
                 : "",
      style.turned != 0
          ? fmt::format(" transform=\"rotate({:.1f} {:.1f} {:.1f})\"", style.turned, x, y)
          : "",
      EscapeXml(text));
}

std::string Svg::Finish() && { return std::move(out_) + "</svg>\n"; }

double Svg::WidthOf(const std::string& text, double size) {
  constexpr double kOfSize = 0.55;  // an average character of Helvetica
  return kOfSize * size * static_cast<double>(DisplayWidth(text));
}

}  // namespace dlcost
