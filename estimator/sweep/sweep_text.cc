#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "estimator/core/error.h"
#include "estimator/report/blocks.h"
#include "estimator/report/format.h"
#include "estimator/report/runtime_text.h"
#include "estimator/report/table.h"
#include "estimator/sweep/power.h"
#include "estimator/sweep/sweep_render.h"

namespace dlcost {
namespace {

std::string TimeText(const std::optional<Seconds>& time) {
  return time ? ReadableTime(*time) : "-";
}
std::string RateText(const std::optional<double>& rate) { return rate ? Readable(*rate) : "-"; }

// "batch=8, sequence=128", with device and type where there are several.
std::string PointName(const Sweep& sweep, const SweepPoint& point) {
  std::vector<std::string> words;
  if (sweep.devices.size() > 1) words.push_back(DeviceName(sweep, point.device));
  if (sweep.setups.size() > 1) words.push_back(SetupName(sweep, point.setup));
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    words.push_back(fmt::format("{}={}", Printable(sweep.axes[a].name), point.sizes[a]));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

class TextWriter {
 public:
  TextWriter(const Sweep& sweep, const SweepRenderOptions& options,
             const std::vector<SweepPoint>& points)
      : sweep_(sweep), options_(options), points_(points), timed_(!sweep.devices.empty()) {
    for (const SweepPoint& point : points) {
      tokens_ |= point.tokens.has_value();
      watts_ |= point.watts.has_value();
    }
  }

  std::string Run() {
    const std::vector<SweepCurve> curves = CurvesOf(sweep_, points_);
    text_ = fmt::format("model     {}\n{}points    {}\n\n", Printable(sweep_.model->path),
                        RuntimeLines(), points_.size());
    AddPoints(curves);
    if (timed_) {
      AddCurves(curves);
      AddFront();
      AddBest();
      if (options_.plot) text_ += "\n" + SweepPlot(sweep_, curves, options_.width);
    }
    text_ += DistributionsText(sweep_, points_);
    AddUntimed();
    AddNotes();
    return std::move(text_);
  }

 private:
  std::string RuntimeLines() const {
    std::string lines;
    for (const SweepSetup& setup : sweep_.setups) {
      const std::string line = fmt::format("runtime   {}\n", RuntimeText(setup.report));
      if (lines.find(line) == std::string::npos) lines += line;
    }
    return lines;
  }

  void AddPoints(const std::vector<SweepCurve>& curves) {
    std::vector<std::string> head;
    const bool devices = sweep_.devices.size() > 1;
    if (devices) head.emplace_back("device");
    if (sweep_.setups.size() > 1) head.emplace_back(SetupHead(sweep_));
    for (const SweepAxis& axis : sweep_.axes) head.push_back(Printable(axis.name));
    for (const char* name : {"MACs", "FLOPs", "bytes", "FLOP/B", "memory"}) head.emplace_back(name);
    if (timed_) {
      for (const char* name : {"fits", "bound", "expected", "items/s"}) head.emplace_back(name);
      if (tokens_) head.emplace_back("tokens/s");
      if (watts_) head.insert(head.end(), {"W", "J/item"});
      if (!options_.price.empty()) head.emplace_back("per 1M items");
      head.emplace_back("limited by");
    }
    Table table(head);
    std::size_t shown = 0;
    for (const SweepCurve& curve : curves) {
      if (shown > 0 && shown < options_.rows && curve.points.size() > 1) table.AddRule();
      for (const SweepPoint* point : curve.points) {
        if (shown++ < options_.rows) table.Add(RowOf(*point));
      }
    }
    table.MayDrop({"W", "J/item", "FLOP/B", "bytes", "MACs", "fits", "FLOPs", "limited by",
                   "memory", "tokens/s", "bound"});
    text_ += table.Fit(options_.width, "--format csv has them");
    if (watts_) {
      text_ += fmt::format(
          "W         rated power of the device while kernels run, {:.0f} % of it (assumed) while "
          "it "
          "waits for launches: rather too much\n",
          100 * kIdlePower);
    }
    if (shown > options_.rows) {
      text_ +=
          fmt::format("{} more points: --top {}, or --format csv\n", shown - options_.rows, shown);
    }
  }

  std::vector<std::string> RowOf(const SweepPoint& point) const {
    std::vector<std::string> row;
    if (sweep_.devices.size() > 1) row.push_back(DeviceName(sweep_, point.device));
    if (sweep_.setups.size() > 1) row.push_back(SetupName(sweep_, point.setup));
    for (const std::int64_t size : point.sizes) row.push_back(std::to_string(size));
    if (!point.why_not.empty()) {
      row.insert(row.end(),
                 5 + (timed_ ? 5u + 2u * watts_ + tokens_ + !options_.price.empty() : 0u), "-");
      return row;
    }
    const std::string mark = point.exact ? "" : "~";
    row.push_back(mark + Readable(point.macs.AsDouble()));
    row.push_back(mark + Readable(point.flops.AsDouble()));
    row.push_back(ReadableBytes(Bytes(point.bytes)));
    row.push_back(point.intensity() ? ReadableRatio(*point.intensity()) : "-");
    row.push_back(ReadableBytes(Bytes(point.needed)));
    if (!timed_) return row;
    row.emplace_back(!point.fits ? "?" : *point.fits ? "yes" : "no");
    row.push_back(TimeText(point.bound));
    row.push_back(TimeText(point.expected));
    row.push_back(RateText(point.items_per_second()));
    if (tokens_) row.push_back(RateText(point.tokens_per_second()));
    if (watts_) {
      row.push_back(point.watts ? fmt::format("{:.0f}", *point.watts) : "-");
      row.push_back(RateText(point.joules_per_item()));
    }
    if (!options_.price.empty()) row.push_back(CostText(point));
    row.push_back(point.limiter);
    return row;
  }

  std::string CostText(const SweepPoint& point) const {
    const std::optional<double> cost = options_.CostOf(sweep_, point);
    return cost ? fmt::format("{:.4g}", *cost) : "-";
  }

  void AddCurves(const std::vector<SweepCurve>& curves) {
    const std::optional<std::size_t> axis = CurveAxis(sweep_);
    if (!axis || sweep_.axes[*axis].sizes.size() < 2) return;
    const std::string& name = sweep_.axes[*axis].name;
    for (std::size_t c = 0; c < std::min(curves.size(), kSweepSections); ++c) {
      const SweepCurve& curve = curves[c];
      text_ += fmt::format("\ncurve     {}\n", CurveName(sweep_, curve));
      if (curve.best == nullptr) {
        text_ += Untimed(curve) ? "          no time is expected\n" : "          nothing fits\n";
        continue;
      }
      AddSparkline(curve);
      text_ += fmt::format(
          "          best throughput {} {} at {} = {}; ", RateText(curve.RateOf(*curve.best)),
          curve.by_tokens ? "tokens/s" : "items/s", name, curve.best->sizes[*axis]);
      if (curve.saturates) {
        text_ += fmt::format("within 10 % from {} = {} on, at {}\n", name,
                             curve.saturated->sizes[*axis], TimeText(curve.saturated->latency()));
      } else {
        text_ += "it still rises at the largest size\n";
      }
      text_ += fmt::format("          {} {} = {}{}\n",
                           curve.all_fit ? "everything fits, up to" : "fits into memory up to",
                           name, curve.largest->sizes[*axis],
                           curve.all_fit ? "" : " of the sizes that were tried");
      std::vector<std::string> limits;
      for (const SweepCurve::Stretch& stretch : curve.limits) {
        limits.push_back(
            stretch.from == stretch.to
                ? fmt::format("{} at {}", stretch.limiter, stretch.from)
                : fmt::format("{} from {} to {}", stretch.limiter, stretch.from, stretch.to));
      }
      if (!limits.empty()) {
        text_ += fmt::format("          limited by {}\n", fmt::join(limits, ", "));
      }
      AddFalls(curve, *axis);
    }
    if (curves.size() > kSweepSections) {
      text_ += fmt::format("\ncurve     {} more: --format json\n", curves.size() - kSweepSections);
    }
  }

  // The curve's throughput, from its smallest size to its largest.
  void AddSparkline(const SweepCurve& curve) {
    if (!options_.blocks) return;
    std::vector<double> rates;
    for (const SweepPoint* point : curve.points) {
      if (const auto rate = curve.RateOf(*point)) rates.push_back(*rate);
    }
    constexpr std::size_t kColumns = 40;
    if (rates.size() < 2) return;
    text_ += fmt::format("          {}  {} to {} {}\n", Sparkline(rates, kColumns),
                         RateText(rates.front()), RateText(rates.back()),
                         curve.by_tokens ? "tokens/s" : "items/s");
  }

  void AddFalls(const SweepCurve& curve, std::size_t axis) {
    const std::size_t shown = std::min(kFallsShown, explanations_);
    const std::vector<SweepFall> falls = FallsOf(sweep_, curve, shown);
    explanations_ -= std::min(shown, falls.size());
    for (std::size_t i = 0; i < std::min(kFallsShown, falls.size()); ++i) {
      const SweepFall& fall = falls[i];
      text_ += fmt::format("          falls by {} from {} to {}{}\n", Percent(fall.share),
                           fall.from->sizes[axis], fall.to->sizes[axis], WhyFalls(fall));
    }
    if (falls.size() > kFallsShown) {
      text_ += fmt::format("          falls at {} more sizes, by {} at most\n",
                           falls.size() - kFallsShown, Percent(falls[kFallsShown].share));
    }
  }

  static std::string WhyFalls(const SweepFall& fall) {
    if (fall.op.empty()) return "";
    const auto run = [](const SweepFall::Run& one) {
      if (!one.waves) return fmt::format("{} {}", one.algorithm, ReadableTime(one.time));
      return fmt::format("{} in {} tiles, {} wave{}", one.algorithm, *one.tiles, *one.waves,
                         *one.waves == 1 ? "" : "s");
    };
    const bool tiled = fall.before.waves && fall.after.waves;
    std::string text = fmt::format(": {}, such as {}\n            {}, then {}", Printable(fall.op),
                                   Printable(fall.node), run(fall.before), run(fall.after));
    if (tiled) text += fmt::format(", over {} units", fall.units);
    if (tiled && !fall.by_waves) {
      text += fmt::format("; waves do not explain it: {}, then {}", ReadableTime(fall.before.time),
                          ReadableTime(fall.after.time));
    }
    return text;
  }

  void AddFront() {
    const std::vector<const SweepPoint*> front = ParetoFront(points_);
    if (front.size() < 2) return;
    constexpr std::size_t kShown = 12;
    text_ += "\nfront     nothing is both faster and of more throughput than these\n";
    for (std::size_t i = 0; i < std::min(front.size(), kShown); ++i) {
      text_ += fmt::format("          {}: {}, {} items/s\n", PointName(sweep_, *front[i]),
                           TimeText(front[i]->latency()), RateText(front[i]->items_per_second()));
    }
    if (front.size() > kShown)
      text_ += fmt::format("          and {} more\n", front.size() - kShown);
  }

  void AddBest() {
    if (options_.conditions.empty() && options_.rank.empty()) return;
    std::vector<std::string> asked;
    for (const SweepCondition& condition : options_.conditions) asked.push_back(condition.text);
    const std::vector<const SweepPoint*> ranked = Ranked(sweep_, options_, points_);
    text_ += fmt::format("\nbest      {}\n",
                         asked.empty() ? "of all" : fmt::format("for {}", fmt::join(asked, ", ")));
    if (ranked.empty())
      text_ += fmt::format("          {}\n", WhyNone([](const SweepPoint&) { return true; }));
    // Of several devices or ways of running the best of each: what is asked is their order.
    const bool several = sweep_.devices.size() * sweep_.setups.size() > 1;
    const std::size_t most = several ? 20 : 5;
    std::set<std::pair<std::size_t, std::size_t>> told;
    for (const SweepPoint* point : ranked) {
      if (told.size() == most) break;
      if (several && !told.emplace(point->device, point->setup).second) continue;
      if (!several) told.emplace(told.size(), 0);
      AddRanked(*point);
    }
    if (!several || ranked.empty()) return;
    for (std::size_t device = 0; device < sweep_.devices.size(); ++device) {
      for (std::size_t setup = 0; setup < sweep_.setups.size() && told.size() < most; ++setup) {
        if (!told.emplace(device, setup).second) continue;
        const std::string name = sweep_.setups.size() > 1 ? SetupName(sweep_, setup) : "";
        const auto same = [&](const SweepPoint& point) {
          return point.device == device && point.setup == setup;
        };
        text_ += fmt::format("          {}{}: {}\n", DeviceName(sweep_, device),
                             name.empty() ? "" : " " + name, WhyNone(same));
      }
    }
  }

  // Why none of the points that `among` takes is one of the best: what is asked is not known of
  // any, or is not met.
  template <typename Among>
  std::string WhyNone(const Among& among) const {
    const auto none_has = [&](const auto& value) {
      return std::none_of(points_.begin(), points_.end(), [&](const SweepPoint& point) {
        return among(point) && point.latency() && value(point).has_value();
      });
    };
    for (const SweepCondition& condition : options_.conditions) {
      if (none_has([&](const SweepPoint& point) { return condition.ValueOf(point); })) {
        return fmt::format("'{}' asks for what is not known here", condition.text);
      }
    }
    if (none_has([&](const SweepPoint& point) { return options_.RankOf(sweep_, point); })) {
      return fmt::format("its {} is not known", options_.rank.empty() ? "time" : options_.rank);
    }
    return "no point meets that";
  }

  void AddRanked(const SweepPoint& point) {
    std::string cost;
    if (!options_.price.empty()) cost = fmt::format(", {} per million items", CostText(point));
    if (options_.rank == "energy") {
      cost += fmt::format(", {} J per item", RateText(point.joules_per_item()));
    }
    text_ += fmt::format("          {}: {}, {} items/s{}\n", PointName(sweep_, point),
                         TimeText(point.latency()), RateText(point.items_per_second()), cost);
  }

  static bool Untimed(const SweepCurve& curve) {
    return std::all_of(curve.points.begin(), curve.points.end(),
                       [](const SweepPoint* point) { return !point->latency(); });
  }

  // Devices of which too little is public.
  void AddUntimed() {
    std::set<std::string> devices;
    for (const SweepPoint& point : points_) {
      if (point.bound && !point.latency()) devices.insert(DeviceName(sweep_, point.device));
    }
    if (devices.empty()) return;
    text_ += fmt::format(
        "\nnote      no time is expected on {}: no rate is public for some of what runs, and the "
        "bound leaves it out; dlcost report names it\n",
        fmt::join(devices, ", "));
  }

  void AddNotes() {
    AddFailures();
    if (!options_.note.empty()) text_ += fmt::format("\nnote      {}\n", options_.note);
  }

  void AddFailures() {
    std::size_t failed = 0;
    const SweepPoint* first = nullptr;
    for (const SweepPoint& point : points_) {
      if (point.why_not.empty()) continue;
      ++failed;
      if (first == nullptr) first = &point;
    }
    if (first == nullptr) return;
    text_ += fmt::format("\nnote      the model does not take {} of the points; {}: {}\n", failed,
                         PointName(sweep_, *first), Printable(first->why_not, 300));
  }

  const Sweep& sweep_;
  const SweepRenderOptions& options_;
  const std::vector<SweepPoint>& points_;
  const bool timed_;
  bool tokens_ = false, watts_ = false;
  static constexpr std::size_t kFallsShown = 3;  // of a curve
  std::size_t explanations_ = kExplanations;     // that are left
  std::string text_;
};

}  // namespace

std::string DeviceName(const Sweep& sweep, std::size_t device) {
  return sweep.devices.empty() ? "" : sweep.devices[device].id;
}

std::string CurveName(const Sweep& sweep, const SweepCurve& curve) {
  std::vector<std::string> words;
  words.push_back(sweep.devices.empty() ? "counts" : DeviceName(sweep, curve.device));
  if (const std::string name = SetupName(sweep, curve.setup); !name.empty()) words.push_back(name);
  const std::optional<std::size_t> along = CurveAxis(sweep);
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    if (a != along)
      words.push_back(fmt::format("{}={}", Printable(sweep.axes[a].name), curve.fixed[a]));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

std::string SweepText(const Sweep& sweep, const SweepRenderOptions& options,
                      const std::vector<SweepPoint>& points) {
  return TextWriter(sweep, options, points).Run();
}

}  // namespace dlcost
