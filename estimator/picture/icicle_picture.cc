#include <fmt/format.h>

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/core/utf8.h"
#include "estimator/picture/frame.h"
#include "estimator/picture/pictures.h"
#include "estimator/report/format.h"
#include "estimator/report/layers.h"

namespace dlcost {
namespace {

class Icicle {
 public:
  Icicle(const Report& report, const PictureOptions& options)
      : report_(report),
        palette_(PaletteOf(options.dark)),
        layers_(LayersOf(report, kLevels)),
        frame_{.height = kTop + kHeight * static_cast<double>(Rows()) + kLegend},
        svg_(frame_.width, frame_.height, palette_) {
    for (const Layer& layer : layers_) {
      if (layer.depth == 0) total_ += CostOf(layer);
    }
    if (total_ <= 0) throw Error("nothing in this report costs anything: there is no icicle");
    const std::string of = !report.device           ? "the FLOPs"
                           : report.totals.expected ? "the expected time"
                                                    : "the bound";
    DrawTitle(svg_, options.title.empty() ? TitleOf(report) : options.title,
              fmt::format("width is the share of {} ({}); repeated layers are one cell", of,
                          report.device ? ReadableTime(Seconds(total_)) : Readable(total_)),
              palette_);
  }

  std::string Run() {
    double at = 0;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (layers_[i].depth != 0) continue;
      const double share = CostOf(layers_[i]) / total_;
      Draw(i, at, share);
      at += share;
    }
    DrawLegend();
    return std::move(svg_).Finish();
  }

 private:
  static constexpr std::size_t kLevels = 6;
  static constexpr double kLeft = 24, kWidth = 912, kTop = 64, kHeight = 72, kLegend = 40;

  std::size_t Rows() const {
    std::size_t rows = 1;
    for (const Layer& layer : layers_) rows = std::max(rows, layer.depth + 1);
    return rows;
  }

  double CostOf(const Layer& layer) const {
    const Sums& sums = layer.row.sums;
    if (!report_.device) return sums.flops.AsDouble();
    return report_.totals.expected ? sums.expected.value_or(Seconds()).value() : sums.bound.value();
  }

  // Kernels have the colour of what limits them, modules none.
  std::size_t ColourOf(const Layer& layer) const {
    constexpr std::size_t kModule = 6;
    if (layer.story.empty() || !report_.device) return kModule;
    return LimiterSeries(layer.row.LimitedBy()).value_or(kModule);
  }

  void DrawLegend() {
    double x = kLeft;
    std::vector<std::string> told;
    for (const Layer& layer : layers_) {
      const std::string limiter = layer.row.LimitedBy();
      if (ColourOf(layer) >= palette_.deep_series.size()) continue;
      if (std::find(told.begin(), told.end(), limiter) != told.end()) continue;
      told.push_back(limiter);
      const std::string text = "limited by " + limiter;
      svg_.Circle(x + 5, frame_.height - 18, 5, palette_.deep_series[ColourOf(layer)], limiter);
      svg_.Text(x + 16, frame_.height - 14, text, {.colour = palette_.muted});
      x += Svg::WidthOf(text) + 44;
    }
  }

  void Draw(std::size_t i, double from, double share) {
    const Layer& layer = layers_[i];
    const double x = kLeft + from * kWidth, wide = share * kWidth;
    if (wide < 0.5) return;
    const double y = kTop + kHeight * static_cast<double>(layer.depth);
    const std::string times = layer.times > 1 ? fmt::format(" ×{}", layer.times) : "";
    const std::string title =
        fmt::format("{}{}{}{}, {}", layer.name, times, layer.story.empty() ? "" : ": ", layer.story,
                    Percent(share));
    const std::size_t colour = ColourOf(layer);
    svg_.Rect(
        x, y, wide, kHeight,
        colour < palette_.deep_series.size() ? palette_.deep_series[colour] : palette_.deep_other,
        title);
    Label(x, y + 24, wide, layer.name + times, true);
    Label(x, y + 42, wide, Percent(share), false);
    Label(x, y + 60, wide, layer.story, false);
    double at = from;
    for (std::size_t child = i + 1; child < layers_.size() && layers_[child].depth > layer.depth;
         ++child) {
      if (layers_[child].depth != layer.depth + 1) continue;
      const double of_child = CostOf(layers_[child]) / total_;
      Draw(child, at, of_child);
      at += of_child;
    }
  }

  // The text, or as much of it as there is room for where that still says something.
  void Label(double x, double y, double wide, const std::string& text, bool bold) {
    constexpr double kSize = 12, kMargin = 5;
    const double each = Svg::WidthOf("x", kSize);
    const auto room = Truncate<std::size_t>(std::max(0.0, (wide - 2 * kMargin) / each));
    constexpr std::size_t kLeast = 9;
    if (text.empty() || (room < kLeast && room < DisplayWidth(text))) return;
    svg_.Text(x + kMargin, y, Printable(text, room),
              {.size = kSize, .colour = "#ffffff", .bold = bold});
  }

  const Report& report_;
  const Palette& palette_;
  std::vector<Layer> layers_;
  const Frame frame_;
  double total_ = 0;
  Svg svg_;
};

}  // namespace

std::string IciclePicture(const Report& report, const PictureOptions& options) {
  return Icicle(report, options).Run();
}

}  // namespace dlcost
