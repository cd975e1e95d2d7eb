#include "estimator/collective/fit_links.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace dlcost {
namespace {

constexpr double kFirstStep = 0.3, kLastStep = 0.01, kShrink = 1.6;
constexpr double kLargestTerm = 0.7;  // about a factor of 2

// A number that all links of the family share.
struct Knob {
  std::string name;
  std::vector<double*> places;
  double most;  // shares are at most 1

  double Get() const { return *places.front(); }
  void Set(double value) const {
    for (double* place : places) *place = value;
  }
};

std::vector<Knob> KnobsOf(System& system, const std::string& timing) {
  std::vector<Knob> knobs;
  const auto add = [&](const std::string& name, double& place, double most) {
    if (place <= 0) return;
    const auto known = std::find_if(knobs.begin(), knobs.end(),
                                    [&](const Knob& knob) { return knob.name == name; });
    if (known != knobs.end()) {
      known->places.push_back(&place);
    } else {
      knobs.push_back({name, {&place}, most});
    }
  };
  for (SystemLink& link : system.links) {
    if (link.timing.id != timing) continue;
    for (auto& [protocol, constants] : link.timing.protocols) {
      const std::string name(Name(protocol));
      add(name + ".start", constants.start, 1);
      add(name + ".hop", constants.hop, 1);
      add(name + ".share", constants.share, 1);
    }
    add("peer", link.timing.peer, 1);
    if (link.reduces) {
      add("switch.start", link.timing.switch_start, 1);
      add("switch.share", link.timing.switch_share, 1);
    }
  }
  return knobs;
}

double Loss(const System& system, const std::vector<MeasuredCollective>& rows) {
  double sum = 0;
  for (const MeasuredCollective& row : rows) {
    if (row.held_out) continue;
    const double ratio = BestCollective(system, row.call).time() / row.time;
    sum += std::min(std::abs(std::log(ratio)), kLargestTerm);
  }
  return sum;
}

}  // namespace

double ErrorOf(const System& system, const MeasuredCollective& row) {
  return std::abs(BestCollective(system, row.call).time() / row.time - 1);
}

std::optional<double> MedianError(const System& system, const std::vector<MeasuredCollective>& rows,
                                  bool held_out) {
  std::vector<double> errors;
  for (const MeasuredCollective& row : rows) {
    if (row.held_out == held_out) errors.push_back(ErrorOf(system, row));
  }
  if (errors.empty()) return std::nullopt;
  std::sort(errors.begin(), errors.end());
  const std::size_t middle = errors.size() / 2;
  return errors.size() % 2 == 1 ? errors[middle] : (errors[middle - 1] + errors[middle]) / 2;
}

std::vector<FittedLinkConstant> FitLinks(System& system, const std::string& timing, bool bandwidths,
                                         const std::vector<MeasuredCollective>& rows) {
  std::vector<Knob> knobs = KnobsOf(system, timing);
  std::vector<double> rates;
  for (const SystemLink& link : system.links) rates.push_back(link.bandwidth.value());
  if (bandwidths) {
    for (std::size_t i = 1; i < rates.size(); ++i) {
      knobs.push_back({system.links[i].name + ".bandwidth", {&rates[i]}, 1e15});
    }
  }
  const auto loss = [&] {
    for (std::size_t i = 0; i < rates.size(); ++i) system.links[i].bandwidth = ByteRate(rates[i]);
    return Loss(system, rows);
  };
  double best = loss();
  for (double step = kFirstStep; step > kLastStep;) {
    bool better = false;
    for (const Knob& knob : knobs) {
      for (const double factor : {1 + step, 1 / (1 + step)}) {
        const double before = knob.Get();
        knob.Set(std::min(before * factor, knob.most));
        const double now = loss();
        if (now < best * (1 - 1e-6)) {
          best = now;
          better = true;
        } else {
          knob.Set(before);
        }
      }
    }
    if (!better) step /= kShrink;
  }
  loss();
  std::vector<FittedLinkConstant> fitted;
  for (const Knob& knob : knobs) fitted.push_back({knob.name, knob.Get()});
  return fitted;
}

}  // namespace dlcost
