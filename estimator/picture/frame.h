#pragma once

#include <optional>
#include <string>

#include "estimator/picture/svg.h"
#include "estimator/report/report.h"

namespace dlcost {

// What all pictures share: size, margins, title and axes.
struct Frame {
  double width = 960, height = 540;
  double left = 84, right = 936, top = 56, bottom = 484;

  double X(double share) const { return left + share * (right - left); }
  double Y(double share) const { return bottom - share * (bottom - top); }
};

void DrawTitle(Svg& svg, const std::string& title, const std::string& below,
               const Palette& palette);
// "" for an axis whose name the title tells.
void DrawAxisNames(Svg& svg, const Frame& frame, const std::string& x, const std::string& y,
                   const Palette& palette);

// A range of decimal logarithms as lines of a grid with their numbers.
struct Decades {
  double low = 0, high = 1;

  // Whole decades around the values, one at least.
  static Decades Around(double low, double high);
  double Share(double value) const { return (value - low) / (high - low); }
};
void DrawGrid(Svg& svg, const Frame& frame, const Decades& x, const Decades& y,
              const Palette& palette);

// "resnet50.onnx on NVIDIA A100 SXM4 80 GB"
std::string TitleOf(const Report& report);

// The colour of what limits a kernel, the same in every picture and on the page.
std::optional<std::size_t> LimiterSeries(const std::string& limiter);  // in Palette::series
const char* LimiterColour(const std::string& limiter, const Palette& palette);

}  // namespace dlcost
