#pragma once

#include <string>
#include <utility>
#include <vector>

#include "estimator/report/report.h"

// Charts of a report as pictures for slides and papers: one SVG each, 960 pixels wide, whose texts
// are at least 11 pixels high. Needed detail: ReportDetail::kRows.
namespace dlcost {

struct PictureOptions {
  std::string title;  // "" the model and the device
  bool dark = false;
};

// Attained FLOP/s over intensity with the roofs that the model uses; a dot is a kernel, or several
// that would hide each other with their number, and its area the share of the time. Throws Error
// without a device or without arithmetic.
std::string RooflinePicture(const Report& report, const PictureOptions& options);

// Activation memory while each kernel runs. Throws Error where no kernel moves anything.
std::string MemoryPicture(const Report& report, const PictureOptions& options);

// Where the time goes, or the FLOPs without a device, by module: repeated layers are one cell.
// Throws Error where nothing costs anything.
std::string IciclePicture(const Report& report, const PictureOptions& options);

// Curves over one size, both axes logarithmic.
struct CurveSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;  // size and value, both above 0
};
// `x`, `y`: what the axes are. Throws Error without points.
std::string CurvePicture(const std::vector<CurveSeries>& series, const std::string& x,
                         const std::string& y, const PictureOptions& options);

}  // namespace dlcost
