#pragma once

#include <string>
#include <vector>

namespace dlcost {

// The colours of a picture, those of the page (estimator/report/page/page.css).
struct Palette {
  const char *surface, *text, *muted, *grid, *line, *roof;
  std::vector<const char*> series;
  const char* other;  // of what has no colour of its own
  // The same, dark enough for white text on them, in any palette.
  std::vector<const char*> deep_series = {"#215ea7", "#b04c22", "#127653",
                                          "#8a5d00", "#463890", "#9d3861"};
  const char* deep_other = "#6c6b65";
};
const Palette& PaletteOf(bool dark);

// A drawing in SVG: coordinates in pixels from the upper left corner. Texts are escaped.
class Svg {
 public:
  Svg(double width, double height, const Palette& palette);

  enum class Anchor { kStart, kMiddle, kEnd };
  struct TextStyle {
    Anchor anchor = Anchor::kStart;
    double size = kTextSize;
    const char* colour = nullptr;  // none: the palette's for text
    bool bold = false;
    bool halo = false;  // keeps lines away from it
    double turned = 0;  // degrees, clockwise
  };

  void Line(double x1, double y1, double x2, double y2, const char* colour, double width = 1,
            bool dashed = false);
  // Joined by lines, and with `filled` down to the floor at this height.
  struct Point {
    double x, y;
  };
  void Path(const std::vector<Point>& points, const char* colour, double width = 2);
  void Area(const std::vector<Point>& points, double floor, const char* colour);
  void Circle(double x, double y, double radius, const char* colour, const std::string& title);
  // `title` is what a viewer shows of it under the mouse.
  void Rect(double x, double y, double width, double height, const char* colour,
            const std::string& title);
  void Text(double x, double y, const std::string& text, const TextStyle& style);

  std::string Finish() &&;

  static constexpr double kTextSize = 13;  // pixels
  // About what `text` takes at that size.
  static double WidthOf(const std::string& text, double size = kTextSize);

 private:
  const Palette& palette_;
  std::string out_;
};

}  // namespace dlcost
