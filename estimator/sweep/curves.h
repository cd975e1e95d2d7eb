#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "estimator/sweep/sweep.h"

namespace dlcost {

// Points of a sweep that differ in one size alone: the batch where it is swept, else the first.
struct SweepCurve {
  std::size_t device = 0, setup = 0;
  Point fixed;  // sizes of all axes; that of the curve's own axis is not looked at
  std::vector<const SweepPoint*> points;

  // What most time waits for, along the curve: where it begins and ends.
  struct Stretch {
    std::int64_t from = 0, to = 0;
    std::string limiter;
  };
  std::vector<Stretch> limits;
  // Throughput is tokens/s where all runs have one number of items, which are longer along the
  // curve; else items/s.
  bool by_tokens = false;
  std::optional<double> RateOf(const SweepPoint& point) const;
  const SweepPoint* best = nullptr;       // highest throughput of those that fit; null: none
  const SweepPoint* saturated = nullptr;  // smallest size within 10 % of it
  const SweepPoint* largest = nullptr;    // that fits into memory
  bool saturates = false;                 // before the largest size that fits
  bool all_fit = true;                    // nothing larger was tried that does not
};

// "latency<=10ms": what a point has to meet.
struct SweepCondition {
  enum class What { kLatency, kThroughput, kTokens, kMemory, kPower, kEnergy };
  What what = What::kLatency;
  bool at_most = true;
  double value = 0;  // s, items/s, tokens/s, bytes, W, J/item
  std::string text;

  // nullopt where it is not known of the point.
  std::optional<double> ValueOf(const SweepPoint& point) const;
  bool Meets(const SweepPoint& point) const;
};
// Throws Error for anything else.
SweepCondition ParseCondition(const std::string& text);

// The axis that curves run along; nullopt without axes.
std::optional<std::size_t> CurveAxis(const Sweep& sweep);
// In the order of devices, setups and sizes.
std::vector<SweepCurve> CurvesOf(const Sweep& sweep, const std::vector<SweepPoint>& points);
// Points that fit such that no other that fits is faster and has more throughput: shortest latency
// first.
std::vector<const SweepPoint*> ParetoFront(const std::vector<SweepPoint>& points);

// Points that differ along one axis alone, in its order; by device, setup and the other sizes.
using PointsByRest =
    std::map<std::tuple<std::size_t, std::size_t, Point>, std::vector<const SweepPoint*>>;
PointsByRest PointsAlong(const std::vector<SweepPoint>& points, std::optional<std::size_t> axis);

}  // namespace dlcost
