#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/picture/frame.h"
#include "estimator/picture/pictures.h"
#include "estimator/report/format.h"

namespace dlcost {
namespace {

double TimeOf(const KernelRow& kernel) {
  return kernel.sums.expected.value_or(kernel.sums.bound).value();
}

struct Dot {
  double x = 0, y = 0, radius = 0;        // pixels
  double time = 0;                        // of all its kernels
  std::vector<const KernelRow*> kernels;  // the longest first
};

struct Box {
  double x0, y0, x1, y1;
};

class RooflineDrawing {
 public:
  RooflineDrawing(const Report& report, const PictureOptions& options)
      : report_(report),
        options_(options),
        palette_(PaletteOf(options.dark)),
        svg_(frame_.width, frame_.height, palette_) {}

  std::string Run() {
    FindDots();
    DrawTitle(svg_, options_.title.empty() ? TitleOf(report_) : options_.title, Below(), palette_);
    DrawGrid(svg_, frame_, x_, y_, palette_);
    DrawAxisNames(svg_, frame_, "arithmetic intensity, FLOP/byte", "FLOP/s", palette_);
    DrawRoofLines();
    for (const Dot& dot : dots_) DrawDot(dot);
    for (const Dot& dot : dots_) DrawCount(dot);
    DrawRoofNames();
    DrawLegend();
    return std::move(svg_).Finish();
  }

 private:
  std::string Below() const {
    const Sums& totals = report_.totals;
    std::string text =
        fmt::format("{}FLOP, {}", Readable(totals.flops.AsDouble()), ReadableBytes(totals.bytes()));
    if (totals.expected) text += ", expected " + ReadableTime(*totals.expected);
    return text + ", bound " + ReadableTime(totals.bound) + "; area is time, ×N: N kernels" +
           (left_out_ == 0 ? ""
                           : fmt::format("; not here: {} far away, {} of time", left_out_,
                                         Percent(left_out_time_ / total_)));
  }

  // Kernels with arithmetic, in one dot where they would hide each other.
  void FindDots() {
    std::vector<const KernelRow*> kernels;
    for (const KernelRow& kernel : report_.kernels) {
      total_ += TimeOf(kernel);
      times_[kernel.LimitedBy()] += TimeOf(kernel);
      const bool computes = kernel.least != Flops() && kernel.sums.bytes() != Bytes();
      if (computes && TimeOf(kernel) > 0) kernels.push_back(&kernel);
    }
    if (!report_.device || kernels.empty() || report_.device->roofs.empty()) {
      throw Error("a roofline needs a device (--gpu) and a model with arithmetic");
    }
    std::stable_sort(kernels.begin(), kernels.end(), [](const KernelRow* a, const KernelRow* b) {
      return TimeOf(*a) > TimeOf(*b);
    });
    FindRange(kernels);
    std::erase_if(kernels, [&](const KernelRow* kernel) {
      const double x = x_.Share(LogX(*kernel)), y = y_.Share(LogY(*kernel));
      const bool outside = x < 0 || x > 1 || y < 0 || y > 1;
      left_out_ += outside ? 1 : 0;
      left_out_time_ += outside ? TimeOf(*kernel) : 0;
      return outside;
    });
    constexpr double kNear = 14;  // pixels
    for (const KernelRow* kernel : kernels) {
      const double x = frame_.X(x_.Share(LogX(*kernel))), y = frame_.Y(y_.Share(LogY(*kernel)));
      const auto near = std::find_if(dots_.begin(), dots_.end(), [&](const Dot& dot) {
        return std::hypot(dot.x - x, dot.y - y) < kNear;
      });
      Dot& dot =
          near == dots_.end() ? dots_.emplace_back(Dot{.x = x, .y = y, .kernels = {}}) : *near;
      dot.time += TimeOf(*kernel);
      dot.kernels.push_back(kernel);
    }
    std::stable_sort(dots_.begin(), dots_.end(),
                     [](const Dot& a, const Dot& b) { return a.time > b.time; });
    // All dots together cover a twentieth of the chart, so that many of them stay apart.
    constexpr double kLargest = 24, kLeast = 5, kBare = 2;
    double areas = 0;
    for (const Dot& dot : dots_) areas += dot.time / dots_.front().time;
    const double room = (frame_.right - frame_.left) * (frame_.bottom - frame_.top);
    const double widest = std::clamp(std::sqrt(room / 20 / M_PI / areas), kLeast, kLargest);
    for (Dot& dot : dots_) dot.radius = kBare + widest * std::sqrt(dot.time / dots_.front().time);
  }

  // The decades of all kernels but the shortest, which together take a five-hundredth of the time:
  // they are not worth decades of their own. `kernels`: the longest first.
  void FindRange(const std::vector<const KernelRow*>& kernels) {
    constexpr double kShort = 2e-3;
    double seen = 0, x0 = HUGE_VAL, x1 = -HUGE_VAL, y0 = HUGE_VAL, y1 = -HUGE_VAL;
    double all = 0;
    for (const KernelRow* kernel : kernels) all += TimeOf(*kernel);
    for (const KernelRow* kernel : kernels) {
      if (seen >= (1 - kShort) * all) break;
      seen += TimeOf(*kernel);
      x0 = std::min(x0, LogX(*kernel)), x1 = std::max(x1, LogX(*kernel));
      y0 = std::min(y0, LogY(*kernel)), y1 = std::max(y1, LogY(*kernel));
    }
    for (const auto& roof : report_.device->roofs) {
      y1 = std::max(y1, std::log10(roof.peak.value()));
      if (!roof.ridge) continue;
      x0 = std::min(x0, std::log10(roof.ridge->value()));
      x1 = std::max(x1, std::log10(roof.ridge->value()));
    }
    x_ = Decades::Around(x0, x1 + 0.1);
    y_ = Decades::Around(y0, y1 + 0.1);
  }

  static double LogX(const KernelRow& kernel) {
    return std::log10(kernel.least.AsDouble() / kernel.sums.bytes().AsDouble());
  }
  static double LogY(const KernelRow& kernel) {
    return std::log10(kernel.least.AsDouble() / TimeOf(kernel));
  }

  void DrawRoofLines() {
    double highest = -HUGE_VAL;
    for (const auto& roof : report_.device->roofs) {
      const double peak = std::log10(roof.peak.value());
      highest = std::max(highest, peak);
      const double from = roof.ridge ? std::max(x_.low, std::log10(roof.ridge->value())) : x_.low;
      svg_.Line(frame_.X(x_.Share(from)), frame_.Y(y_.Share(peak)), frame_.right,
                frame_.Y(y_.Share(peak)), palette_.roof, 1.5);
    }
    if (!report_.device->bandwidth) return;
    const double rate = std::log10(report_.device->bandwidth->value());
    const double from = std::max(x_.low, y_.low - rate), to = std::min(x_.high, highest - rate);
    if (from >= to) return;
    slope_ = {{frame_.X(x_.Share(from)), frame_.Y(y_.Share(from + rate)), frame_.X(x_.Share(to)),
               frame_.Y(y_.Share(to + rate))}};
    svg_.Line(slope_->x0, slope_->y0, slope_->x1, slope_->y1, palette_.roof, 1.5);
  }

  void DrawDot(const Dot& dot) {
    const KernelRow& longest = *dot.kernels.front();
    std::string title = report_.nodes[longest.main].name + ", " + ReadableTime(Seconds(dot.time));
    if (dot.kernels.size() > 1) title += fmt::format(", with {} more", dot.kernels.size() - 1);
    svg_.Circle(dot.x, dot.y, dot.radius, LimiterColour(longest.LimitedBy(), palette_), title);
  }

  // How many kernels a dot is: in it where there is room, else beside it.
  void DrawCount(const Dot& dot) {
    if (dot.kernels.size() < 2) return;
    const std::string count = fmt::format("×{}", dot.kernels.size());
    constexpr double kSize = 11;
    const double half = Svg::WidthOf(count, kSize) / 2;
    const auto box_at = [&](double x, double y) { return Box{x - half, y - 7, x + half, y + 6}; };
    if (dot.radius > half + 2 && IsFree(box_at(dot.x, dot.y), &dot)) {
      svg_.Text(dot.x, dot.y + 4, count,
                {.anchor = Svg::Anchor::kMiddle, .size = kSize, .colour = "#ffffff"});
      return;
    }
    for (const double far : {0.0, 14.0, 30.0}) {
      for (const auto& [dx, dy] : {std::pair(1, 0), {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {-1, 1}}) {
        const double x = dot.x + dx * (dot.radius + 3 + half + far);
        const double y = dot.y + dy * (dot.radius + 9 + far);
        const Box box = box_at(x, y);
        if (!IsFree(box)) continue;
        taken_.push_back(box);
        svg_.Text(x, y + 4, count, {.anchor = Svg::Anchor::kMiddle, .size = kSize, .halo = true});
        return;
      }
    }
  }

  // Of other texts and of all dots but `own`.
  bool IsFree(const Box& box, const Dot* own = nullptr) const {
    const bool on_text = std::any_of(taken_.begin(), taken_.end(), [&](const Box& other) {
      return box.x0 < other.x1 && other.x0 < box.x1 && box.y0 < other.y1 && other.y0 < box.y1;
    });
    return !on_text && std::none_of(dots_.begin(), dots_.end(), [&](const Dot& dot) {
      const double dx = std::max({box.x0 - dot.x, 0.0, dot.x - box.x1});
      const double dy = std::max({box.y0 - dot.y, 0.0, dot.y - box.y1});
      return &dot != own && std::hypot(dx, dy) < dot.radius;
    });
  }

  // Beside their lines, where no dot and no other text is.
  void DrawRoofNames() {
    for (const auto& roof : report_.device->roofs) {
      const std::string text = roof.name + " " + ReadableRate(roof.peak.value(), roof.unit());
      const double wide = Svg::WidthOf(text), y = frame_.Y(y_.Share(std::log10(roof.peak.value())));
      Box best = {frame_.right - wide, y - 17, frame_.right, y - 4};
      for (const double above : {0.0, 21.0}) {
        bool found = false;
        for (double end = frame_.right; end - wide > frame_.left && !found; end -= 12) {
          const Box box = {end - wide, y - 17 + above, end, y - 4 + above};
          found = IsFree(box);
          if (found) best = box;
        }
        if (found) break;
      }
      taken_.push_back(best);
      svg_.Text(best.x1, best.y1 - 2, text, {.anchor = Svg::Anchor::kEnd, .halo = true});
    }
    if (!slope_) return;
    const double angle = std::atan2(slope_->y1 - slope_->y0, slope_->x1 - slope_->x0);
    svg_.Text(slope_->x0 + 14 * std::cos(angle) + 7 * std::sin(angle),
              slope_->y0 + 14 * std::sin(angle) - 7 * std::cos(angle),
              "device memory " + ReadableRate(report_.device->bandwidth->value(), "B"),
              {.halo = true, .turned = angle * 180 / M_PI});
  }

  void DrawLegend() {
    std::vector<std::pair<std::string, double>> shares(times_.begin(), times_.end());
    std::stable_sort(shares.begin(), shares.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    double y = frame_.bottom - 12;
    for (const auto& [limiter, time] : shares) {
      if (time <= 0 || y < frame_.top + 40) continue;
      const std::string text = fmt::format("limited by {}: {}", limiter, Percent(time / total_));
      svg_.Circle(frame_.right - 14, y - 4, 5, LimiterColour(limiter, palette_), limiter);
      svg_.Text(frame_.right - 26, y, text,
                {.anchor = Svg::Anchor::kEnd, .colour = palette_.muted, .halo = true});
      y -= 18;
    }
  }

  const Report& report_;
  const PictureOptions& options_;
  const Palette& palette_;
  const Frame frame_;
  Svg svg_;
  Decades x_, y_;
  std::vector<Dot> dots_;
  std::vector<Box> taken_;
  std::optional<Box> slope_;
  std::map<std::string, double> times_;  // by what limits
  double total_ = 0;
  std::size_t left_out_ = 0;
  double left_out_time_ = 0;
};

}  // namespace

std::string RooflinePicture(const Report& report, const PictureOptions& options) {
  return RooflineDrawing(report, options).Run();
}

}  // namespace dlcost
