#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "estimator/report/report.h"

namespace dlcost {

struct PlotOptions {
  std::size_t width = 80;   // columns of the whole plot, at least 40
  std::size_t height = 20;  // lines between the axes
};

struct RooflinePoint {
  double flops, bytes;
  double time;  // seconds
};
struct RooflineChart {
  std::vector<RooflinePoint> points;
  double total_time = 0;  // seconds, of points without arithmetic too
  std::vector<DeviceFacts::RoofFact> roofs;
  std::optional<ByteRate> bandwidth;
};

// The roofline in characters: attained FLOP/s over intensity, both logarithmic, with the compute
// roofs that the model uses and the slope of device memory. Kernels in one cell are one mark, which
// tells their share of the time: . below 1 %, o below 5 %, O below 20 %, @ above. "" without
// arithmetic, of a report without a device too.
std::string RenderPlot(const RooflineChart& chart, const PlotOptions& options);
std::string RenderPlot(const Report& report, const PlotOptions& options);

}  // namespace dlcost
