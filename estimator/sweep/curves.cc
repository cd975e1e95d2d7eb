#include "estimator/sweep/curves.h"

#include <algorithm>
#include <cstdlib>

#include "estimator/core/error.h"
#include "estimator/hardware/quantity_text.h"

namespace dlcost {
namespace {

bool Usable(const SweepPoint& point) { return point.why_not.empty() && point.fits.value_or(true); }

void Summarize(std::size_t axis, SweepCurve& curve) {
  constexpr double kSaturated = 0.9;
  std::vector<const SweepPoint*> ordered = curve.points;
  std::stable_sort(ordered.begin(), ordered.end(), [&](const SweepPoint* a, const SweepPoint* b) {
    return a->sizes[axis] < b->sizes[axis];
  });
  curve.by_tokens = std::all_of(ordered.begin(), ordered.end(), [&](const SweepPoint* point) {
    return !point->why_not.empty() || (point->tokens && point->items == ordered.front()->items);
  });
  for (const SweepPoint* point : ordered) {
    if (!point->why_not.empty()) continue;
    if (!point->limiter.empty()) {
      if (curve.limits.empty() || curve.limits.back().limiter != point->limiter) {
        curve.limits.push_back({point->sizes[axis], point->sizes[axis], point->limiter});
      }
      curve.limits.back().to = point->sizes[axis];
    }
    curve.all_fit &= point->fits.value_or(true);
    if (!Usable(*point)) continue;
    curve.largest = point;
    const std::optional<double> rate = curve.RateOf(*point);
    if (rate && (curve.best == nullptr || *rate > *curve.RateOf(*curve.best))) {
      curve.best = point;
    }
  }
  if (curve.best == nullptr) return;
  for (const SweepPoint* point : ordered) {
    const std::optional<double> rate = curve.RateOf(*point);
    if (Usable(*point) && rate && *rate >= kSaturated * *curve.RateOf(*curve.best)) {
      curve.saturated = point;
      curve.saturates = point != curve.largest;
      return;
    }
  }
}

}  // namespace

std::optional<double> SweepCurve::RateOf(const SweepPoint& point) const {
  return by_tokens ? point.tokens_per_second() : point.items_per_second();
}

PointsByRest PointsAlong(const std::vector<SweepPoint>& points, std::optional<std::size_t> axis) {
  PointsByRest curves;
  for (const SweepPoint& point : points) {
    Point fixed = point.sizes;
    if (axis) fixed[*axis] = 0;
    curves[{point.device, point.setup, std::move(fixed)}].push_back(&point);
  }
  return curves;
}

std::optional<double> SweepCondition::ValueOf(const SweepPoint& point) const {
  if (!point.why_not.empty()) return std::nullopt;
  switch (what) {
    case What::kLatency:
      return point.latency() ? std::optional(point.latency()->value()) : std::nullopt;
    case What::kThroughput:
      return point.items_per_second();
    case What::kTokens:
      return point.tokens_per_second();
    case What::kMemory:
      return point.needed.AsDouble();
    case What::kPower:
      return point.watts;
    case What::kEnergy:
      return point.joules_per_item();
  }
  return std::nullopt;
}

bool SweepCondition::Meets(const SweepPoint& point) const {
  const std::optional<double> has = ValueOf(point);
  return has && (at_most ? *has <= value : *has >= value);
}

SweepCondition ParseCondition(const std::string& text) {
  const std::size_t sign = text.find_first_of("<>");
  const auto fail = [&]() -> Error {
    return Error(
        "--for '{}' is no condition: write latency<=10ms, throughput>=1000, tokens>=1e6, "
        "memory<=16GB, power<=300W or energy<=50mJ",
        Printable(text));
  };
  if (sign == std::string::npos || sign + 1 >= text.size() || text[sign + 1] != '=') throw fail();
  SweepCondition condition{.at_most = text[sign] == '<', .text = text};
  const std::string name = text.substr(0, sign), value = text.substr(sign + 2);
  using What = SweepCondition::What;
  if (name == "latency") {
    condition.what = What::kLatency;
  } else if (name == "throughput") {
    condition.what = What::kThroughput;
  } else if (name == "tokens") {
    condition.what = What::kTokens;
  } else if (name == "memory") {
    condition.what = What::kMemory;
  } else if (name == "power") {
    condition.what = What::kPower;
  } else if (name == "energy") {
    condition.what = What::kEnergy;
  } else {
    throw fail();
  }
  if (condition.what == What::kPower) {
    condition.value = ParseQuantity(value, Dimension::kPower);
  } else if (condition.what == What::kEnergy) {
    char* end = nullptr;
    condition.value = std::strtod(value.c_str(), &end);
    const std::string unit = end;
    if (end == value.c_str() || (unit != "J" && unit != "mJ") || !(condition.value > 0)) {
      throw fail();
    }
    if (unit == "mJ") condition.value *= 1e-3;
  } else if (condition.what == What::kMemory) {
    condition.value = ParseQuantity(value, Dimension::kByteSize);
  } else if (condition.what == What::kLatency) {
    if (value.find('s') == std::string::npos) throw fail();
    condition.value = ParseQuantity(value, Dimension::kConstant);
  } else {
    char* end = nullptr;
    condition.value = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0' || !(condition.value > 0)) throw fail();
  }
  return condition;
}

std::optional<std::size_t> CurveAxis(const Sweep& sweep) {
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    if (sweep.axes[a].batch && sweep.axes[a].sizes.size() > 1) return a;
  }
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    if (sweep.axes[a].sizes.size() > 1) return a;
  }
  return sweep.axes.empty() ? std::nullopt : std::optional<std::size_t>(0);
}

std::vector<SweepCurve> CurvesOf(const Sweep& sweep, const std::vector<SweepPoint>& points) {
  const std::optional<std::size_t> axis = CurveAxis(sweep);
  std::vector<SweepCurve> curves;
  for (auto& [key, members] : PointsAlong(points, axis)) {
    SweepCurve curve{.device = std::get<0>(key),
                     .setup = std::get<1>(key),
                     .fixed = std::get<2>(key),
                     .points = members};
    if (axis) Summarize(*axis, curve);
    curves.push_back(std::move(curve));
  }
  return curves;
}

std::vector<const SweepPoint*> ParetoFront(const std::vector<SweepPoint>& points) {
  std::vector<const SweepPoint*> timed, front;
  for (const SweepPoint& point : points) {
    if (Usable(point) && point.items_per_second()) timed.push_back(&point);
  }
  std::stable_sort(timed.begin(), timed.end(), [](const SweepPoint* a, const SweepPoint* b) {
    if (a->latency()->value() != b->latency()->value()) {
      return a->latency()->value() < b->latency()->value();
    }
    return *a->items_per_second() > *b->items_per_second();
  });
  for (const SweepPoint* point : timed) {
    if (front.empty() || *point->items_per_second() > *front.back()->items_per_second()) {
      front.push_back(point);
    }
  }
  return front;
}

}  // namespace dlcost
