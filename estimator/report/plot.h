#pragma once

#include <cstddef>
#include <string>

#include "estimator/report/report.h"

namespace dlcost {

struct PlotOptions {
  std::size_t width = 80;   // columns of the whole plot, at least 40
  std::size_t height = 20;  // lines between the axes
};

// The roofline in characters: attained FLOP/s over intensity, both logarithmic, with the compute
// roofs that the model uses and the slope of device memory. Kernels in one cell are one mark, which
// tells their share of the time: . below 1 %, o below 5 %, O below 20 %, @ above. "" without a
// device or without arithmetic.
std::string RenderPlot(const Report& report, const PlotOptions& options);

}  // namespace dlcost
