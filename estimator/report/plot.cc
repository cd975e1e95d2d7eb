#include "estimator/report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "estimator/core/integer.h"
#include "estimator/report/format.h"
#include "estimator/report/rows.h"

namespace dlcost {
namespace {

struct Point {
  double x, y;  // decimal logarithms of intensity and FLOP/s
  double time;
};

std::vector<Point> PointsOf(const RooflineChart& chart) {
  std::vector<Point> points;
  for (const RooflinePoint& point : chart.points) {
    if (point.flops <= 0 || point.bytes <= 0 || point.time <= 0) continue;
    points.push_back(
        {std::log10(point.flops / point.bytes), std::log10(point.flops / point.time), point.time});
  }
  return points;
}

class Plot {
 public:
  Plot(const RooflineChart& chart, const PlotOptions& options, std::vector<Point> points)
      : chart_(chart),
        columns_(std::max<std::size_t>(options.width, 40) - kMargin),
        lines_(std::max<std::size_t>(options.height, 8)),
        points_(std::move(points)),
        cells_(lines_, std::string(columns_, ' ')) {
    FindRange();
  }

  std::string Run() {
    DrawMemory();
    for (const auto& roof : chart_.roofs) DrawCompute(roof);
    DrawPoints();
    return Text();
  }

 private:
  static constexpr std::size_t kMargin = 10;  // for the labels on the left

  void FindRange() {
    double low_x = points_[0].x, high_x = low_x, low_y = points_[0].y, high_y = low_y;
    const auto include = [](double value, double& low, double& high) {
      low = std::min(low, value);
      high = std::max(high, value);
    };
    for (const Point& point : points_) {
      include(point.x, low_x, high_x);
      include(point.y, low_y, high_y);
    }
    for (const auto& roof : chart_.roofs) {
      include(std::log10(roof.peak.value()), low_y, high_y);
      if (roof.ridge) include(std::log10(roof.ridge->value()), low_x, high_x);
    }
    x0_ = std::floor(low_x);
    x1_ = std::ceil(high_x + 0.1);
    y0_ = std::floor(low_y);
    y1_ = std::ceil(high_y + 0.05);
  }

  double XAt(std::size_t column) const {
    return x0_ + (x1_ - x0_) * (static_cast<double>(column) + 0.5) / static_cast<double>(columns_);
  }
  // The line for a height, from the top; none outside of the plot.
  std::optional<std::size_t> LineAt(double y) const {
    const double line = (y1_ - y) / (y1_ - y0_) * static_cast<double>(lines_);
    if (line < 0 || line >= static_cast<double>(lines_)) return std::nullopt;
    return Truncate<std::size_t>(line);
  }
  std::size_t ColumnAt(double x) const {
    const double column = (x - x0_) / (x1_ - x0_) * static_cast<double>(columns_);
    return std::min(Truncate<std::size_t>(std::max(column, 0.0)), columns_ - 1);
  }

  double HighestRoof() const {
    double highest = y0_;
    for (const auto& roof : chart_.roofs) {
      highest = std::max(highest, std::log10(roof.peak.value()));
    }
    return highest;
  }

  void DrawMemory() {
    if (!chart_.bandwidth || chart_.roofs.empty()) return;
    const double bandwidth = std::log10(chart_.bandwidth->value());
    const double top = HighestRoof();
    for (std::size_t column = 0; column < columns_; ++column) {
      const double y = bandwidth + XAt(column);
      const auto line = LineAt(y);
      if (line && y <= top) cells_[*line][column] = '/';
    }
  }

  void DrawCompute(const DeviceFacts::RoofFact& roof) {
    const double peak = std::log10(roof.peak.value());
    const auto line = LineAt(peak);
    if (!line) return;
    const std::size_t from = roof.ridge ? ColumnAt(std::log10(roof.ridge->value())) : 0;
    for (std::size_t column = from; column < columns_; ++column) cells_[*line][column] = '-';
    // The name stands on the line, at its right end.
    const std::string name =
        " " + roof.name + " " + ReadableRate(roof.peak.value(), roof.unit()) + " ";
    if (from + name.size() + 2 < columns_) {
      cells_[*line].replace(columns_ - name.size() - 1, name.size(), name);
    }
  }

  void DrawPoints() {
    std::vector<std::vector<double>> times(lines_, std::vector<double>(columns_, 0));
    for (const Point& point : points_) {
      if (const auto line = LineAt(point.y)) times[*line][ColumnAt(point.x)] += point.time;
    }
    for (std::size_t line = 0; line < lines_; ++line) {
      for (std::size_t column = 0; column < columns_; ++column) {
        const double share = times[line][column] / chart_.total_time;
        if (share <= 0) continue;
        cells_[line][column] = share < 0.01 ? '.' : share < 0.05 ? 'o' : share < 0.2 ? 'O' : '@';
      }
    }
  }

  std::string Text() const {
    std::string text;
    double labelled = y1_ + 1;
    for (std::size_t line = 0; line < lines_; ++line) {
      // Each power of ten stands beside the first line that it reaches.
      const double y = y1_ - (y1_ - y0_) * static_cast<double>(line) / static_cast<double>(lines_);
      std::string label;
      if (std::floor(y) < labelled && std::floor(y) >= y0_ &&
          y - std::floor(y) < 1e-9 + (y1_ - y0_) / static_cast<double>(lines_)) {
        labelled = std::floor(y);
        label = Readable(std::pow(10.0, labelled));
      }
      std::string row = fmt::format("{:>{}} |{}", label, kMargin - 2, cells_[line]);
      row.erase(row.find_last_not_of(' ') + 1);
      text += row + "\n";
    }
    text += std::string(kMargin - 1, ' ') + "+" + std::string(columns_, '-') + "\n";
    std::string axis(kMargin + columns_, ' ');
    for (double x = x0_; x < x1_; ++x) {
      const std::string label =
          x < 0 ? fmt::format("{:g}", std::pow(10.0, x)) : Readable(std::pow(10.0, x));
      axis.replace(kMargin + ColumnAt(x),
                   std::min(label.size(), axis.size() - kMargin - ColumnAt(x)), label);
    }
    axis.erase(axis.find_last_not_of(' ') + 1);
    text += axis + "\n";
    text += std::string(kMargin, ' ') +
            "FLOP/s over FLOP/byte; share of time: . <1%  o <5%  O <20%  @ more\n";
    return text;
  }

  const RooflineChart& chart_;
  std::size_t columns_, lines_;
  std::vector<Point> points_;
  std::vector<std::string> cells_;
  double x0_ = 0, x1_ = 1, y0_ = 0, y1_ = 1;
};

}  // namespace

std::string RenderPlot(const RooflineChart& chart, const PlotOptions& options) {
  std::vector<Point> points = PointsOf(chart);
  if (points.empty()) return "";
  return Plot(chart, options, std::move(points)).Run();
}

std::string RenderPlot(const Report& report, const PlotOptions& options) {
  if (!report.device) return "";
  RooflineChart chart{.points = {},
                      .total_time = 0,
                      .roofs = report.device->roofs,
                      .bandwidth = report.device->bandwidth};
  for (const KernelRow& kernel : report.kernels) {
    chart.points.push_back(
        {kernel.least.AsDouble(), kernel.sums.bytes().AsDouble(), TimeOf(kernel)});
    chart.total_time += TimeOf(kernel);
  }
  return RenderPlot(chart, options);
}

}  // namespace dlcost
