#include <fmt/format.h>

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
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
    std::size_t colour = 0;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (layers_[i].depth != 0) continue;
      const double share = CostOf(layers_[i]) / total_;
      Draw(i, at, share, palette_.series[colour++ % palette_.series.size()]);
      at += share;
    }
    return std::move(svg_).Finish();
  }

 private:
  static constexpr std::size_t kLevels = 6;
  static constexpr double kLeft = 24, kWidth = 912, kTop = 64, kHeight = 74;

  double CostOf(const Layer& layer) const {
    const Sums& sums = layer.row.sums;
    if (!report_.device) return sums.flops.AsDouble();
    return report_.totals.expected ? sums.expected.value_or(Seconds()).value() : sums.bound.value();
  }

  void Draw(std::size_t i, double from, double share, const char* colour) {
    const Layer& layer = layers_[i];
    const double x = kLeft + from * kWidth, wide = share * kWidth;
    if (wide < 0.5) return;
    const double y = kTop + kHeight * static_cast<double>(layer.depth);
    const std::string times = layer.times > 1 ? fmt::format(" ×{}", layer.times) : "";
    const std::string title =
        fmt::format("{}{}{}{}, {}", layer.name, times, layer.story.empty() ? "" : ": ", layer.story,
                    Percent(share));
    svg_.Rect(x, y, wide, kHeight, colour, title);
    Label(x, y + 24, wide, layer.name + times, true);
    Label(x, y + 42, wide, Percent(share), false);
    Label(x, y + 60, wide, layer.story, false);
    double at = from;
    for (std::size_t child = i + 1; child < layers_.size() && layers_[child].depth > layer.depth;
         ++child) {
      if (layers_[child].depth != layer.depth + 1) continue;
      const double of_child = CostOf(layers_[child]) / total_;
      Draw(child, at, of_child, colour);
      at += of_child;
    }
  }

  // As much of the text as there is room for; nothing for less than three characters of it.
  void Label(double x, double y, double wide, const std::string& text, bool bold) {
    constexpr double kSize = 12, kMargin = 5;
    const double each = Svg::WidthOf("x", kSize);
    const auto room = Truncate<std::size_t>(std::max(0.0, (wide - 2 * kMargin) / each));
    if (room < 3 || text.empty()) return;
    svg_.Text(x + kMargin, y, Printable(text, room),
              {.size = kSize, .colour = "#ffffff", .bold = bold});
  }

  const Report& report_;
  const Palette& palette_;
  const Frame frame_;
  std::vector<Layer> layers_;
  double total_ = 0;
  Svg svg_;
};

}  // namespace

std::string IciclePicture(const Report& report, const PictureOptions& options) {
  return Icicle(report, options).Run();
}

}  // namespace dlcost
