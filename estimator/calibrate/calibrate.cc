#include "estimator/calibrate/calibrate.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

constexpr std::size_t kFewestRows = 20;
constexpr double kStep = 0.02;  // of a constant, for its derivative
// A prediction that moves less than this does not depend on the constant.
constexpr double kNoEffect = 1e-7;
constexpr double kConverged = 1e-5;
constexpr double kRangeShare = 0.8;  // of the errors lie within the range

// Constants live on a scale where one unit is as much as the fit should dare: logarithms where a
// range spans decades, the range itself otherwise.
class Scale {
 public:
  explicit Scale(const ConstantDef& def)
      : low_(def.low), high_(def.high), floor_(std::max(def.low, def.high * 1e-4)) {
    logarithmic_ = high_ / floor_ > 20;
  }
  double Inside(double value) const {
    return logarithmic_ ? std::log(std::max(value, floor_)) : value / (high_ - low_);
  }
  double Outside(double inside) const {
    const double value = logarithmic_ ? std::exp(inside) : inside * (high_ - low_);
    return std::clamp(value, logarithmic_ ? floor_ : low_, high_);
  }
  // Standard error as a share of the value.
  double Relative(double inside_error, double value) const {
    if (logarithmic_) return inside_error;
    return value > 0 ? inside_error * (high_ - low_) / value : 0;
  }

 private:
  double low_, high_, floor_;
  bool logarithmic_;
};

class Fitting {
 public:
  Fitting(const std::vector<CalibrationRow>& rows, const CalibrationOptions& options)
      : rows_(rows), options_(options) {
    for (const CalibrationRow& row : rows) devices_.emplace(row.device, *row.device);
  }

  // log(expected / measured) of every row. Constants outside `ids` are those of the row's device.
  Eigen::VectorXd Errors(const TimingConstants& constants, const std::vector<Constant>& ids) {
    for (auto& [key, device] : devices_) {
      device.constants = key->constants;
      for (const Constant id : ids) device.constants[id] = constants[id];
    }
    Eigen::VectorXd errors(static_cast<Eigen::Index>(rows_.size()));
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const double expected = ExpectedSeconds(devices_.at(rows_[i].device), rows_[i].latency);
      errors[static_cast<Eigen::Index>(i)] = std::log(expected / rows_[i].latency.measured);
    }
    return errors;
  }

  // Sum over rows of 2 s^2 (sqrt(1 + (e/s)^2) - 1), and the pull towards the start.
  double Cost(const Eigen::VectorXd& errors, const Eigen::VectorXd& moved) const {
    const double s = options_.robust_scale;
    double cost = 0;
    for (const double e : errors) cost += 2 * s * s * (std::sqrt(1 + e * e / (s * s)) - 1);
    return cost + PriorWeight() * moved.squaredNorm();
  }

  double PriorWeight() const { return options_.prior * static_cast<double>(rows_.size()); }

  Eigen::VectorXd Weights(const Eigen::VectorXd& errors) const {
    const double s = options_.robust_scale;
    return (1 + (errors / s).array().square()).sqrt().inverse().matrix();
  }

 private:
  const std::vector<CalibrationRow>& rows_;
  const CalibrationOptions& options_;
  std::map<const TimingDevice*, TimingDevice> devices_;
};

struct Parameters {
  std::vector<Constant> ids;
  std::vector<Scale> scales;
  Eigen::VectorXd start, now;

  TimingConstants Apply(TimingConstants constants, const Eigen::VectorXd& inside) const {
    for (std::size_t j = 0; j < ids.size(); ++j) {
      constants[ids[j]] = scales[j].Outside(inside[static_cast<Eigen::Index>(j)]);
    }
    return constants;
  }
  void MoveTo(const TimingConstants& constants) {
    for (std::size_t j = 0; j < ids.size(); ++j) {
      now[static_cast<Eigen::Index>(j)] = scales[j].Inside(constants[ids[j]]);
    }
  }
  // Of the constants that moved to an end of their range, the one that moved most.
  std::optional<std::size_t> FarthestAtLimit() const {
    std::optional<std::size_t> farthest;
    double most = 0;
    for (std::size_t j = 0; j < ids.size(); ++j) {
      const auto i = static_cast<Eigen::Index>(j);
      const double moved = std::abs(now[i] - start[i]);
      if (moved <= most || !IsAtLimit(Def(ids[j]), scales[j].Outside(now[i]))) continue;
      farthest = j;
      most = moved;
    }
    return farthest;
  }
  // Back inside the ranges after a step.
  Eigen::VectorXd Clamp(const Eigen::VectorXd& inside) const {
    Eigen::VectorXd result = inside;
    for (std::size_t j = 0; j < ids.size(); ++j) {
      const auto i = static_cast<Eigen::Index>(j);
      result[i] = scales[j].Inside(scales[j].Outside(inside[i]));
    }
    return result;
  }
};

double StepOf(const ConstantDef& def, double value) {
  const double step = std::max(kStep * value, 1e-3 * (def.high - def.low) * kStep);
  return value + step > def.high ? -step : step;
}

bool IsRange(Constant constant) { return Def(constant).name.substr(0, 6) == "range."; }

Parameters Sensitive(Fitting& fit, const TimingConstants& start,
                     const std::vector<Constant>& fixed) {
  Parameters p;
  std::vector<Constant> free;
  for (const ConstantDef& def : ConstantDefs()) {
    if (IsRange(def.id) || std::find(fixed.begin(), fixed.end(), def.id) != fixed.end()) continue;
    free.push_back(def.id);
  }
  const Eigen::VectorXd base = fit.Errors(start, free);
  for (const Constant id : free) {
    const ConstantDef& def = Def(id);
    double effect = 0;
    for (const double sign : {1.0, -1.0}) {
      TimingConstants moved = start;
      moved[def.id] = std::clamp(start[def.id] + sign * 5 * std::abs(StepOf(def, start[def.id])),
                                 def.low, def.high);
      effect = std::max(effect, (fit.Errors(moved, free) - base).cwiseAbs().maxCoeff());
    }
    if (effect < kNoEffect) continue;
    p.ids.push_back(def.id);
    p.scales.emplace_back(def);
  }
  p.start.resize(static_cast<Eigen::Index>(p.ids.size()));
  for (std::size_t j = 0; j < p.ids.size(); ++j) {
    p.start[static_cast<Eigen::Index>(j)] = p.scales[j].Inside(start[p.ids[j]]);
  }
  p.now = p.start;
  return p;
}

Eigen::MatrixXd Jacobian(Fitting& fit, const Parameters& p, const TimingConstants& start,
                         const Eigen::VectorXd& errors) {
  Eigen::MatrixXd jacobian(errors.size(), p.now.size());
  const TimingConstants here = p.Apply(start, p.now);
  for (std::size_t j = 0; j < p.ids.size(); ++j) {
    const auto column = static_cast<Eigen::Index>(j);
    const ConstantDef& def = Def(p.ids[j]);
    TimingConstants moved = here;
    moved[def.id] = std::clamp(here[def.id] + StepOf(def, here[def.id]), def.low, def.high);
    const double inside = p.scales[j].Inside(moved[def.id]) - p.now[column];
    if (inside == 0) {
      jacobian.col(column).setZero();
    } else {
      jacobian.col(column) = (fit.Errors(moved, p.ids) - errors) / inside;
    }
  }
  return jacobian;
}

// Levenberg-Marquardt with reweighting; returns the number of steps taken.
int Minimize(Fitting& fit, Parameters& p, const TimingConstants& start,
             const CalibrationOptions& options, Eigen::VectorXd& standard_errors) {
  Eigen::VectorXd errors = fit.Errors(p.Apply(start, p.now), p.ids);
  double cost = fit.Cost(errors, p.now - p.start);
  double damping = 1e-2;
  int steps = 0;
  standard_errors = Eigen::VectorXd::Zero(p.now.size());
  for (; steps < options.iterations; ++steps) {
    const Eigen::MatrixXd jacobian = Jacobian(fit, p, start, errors);
    const Eigen::VectorXd weights = fit.Weights(errors);
    Eigen::MatrixXd normal = jacobian.transpose() * weights.asDiagonal() * jacobian;
    normal.diagonal().array() += fit.PriorWeight();
    const Eigen::VectorXd gradient = jacobian.transpose() * (weights.cwiseProduct(errors)) +
                                     fit.PriorWeight() * (p.now - p.start);
    const double variance = weights.dot(errors.cwiseAbs2()) / std::max(1.0, weights.sum());
    standard_errors = (normal.inverse().diagonal() * variance).cwiseSqrt();
    bool better = false;
    double gain = 0;
    for (int attempt = 0; attempt < 8 && !better; ++attempt) {
      Eigen::MatrixXd damped = normal;
      damped.diagonal() *= 1 + damping;
      const Eigen::VectorXd next = p.Clamp(p.now - damped.ldlt().solve(gradient));
      const Eigen::VectorXd next_errors = fit.Errors(p.Apply(start, next), p.ids);
      const double next_cost = fit.Cost(next_errors, next - p.start);
      if (next_cost < cost) {
        gain = (cost - next_cost) / cost;
        p.now = next;
        errors = next_errors;
        cost = next_cost;
        damping = std::max(damping / 4, 1e-6);
        better = true;
      } else {
        damping *= 6;
      }
    }
    if (!better || gain < kConverged) break;
  }
  return steps;
}

// `ids` and the ranges as in `constants`, the others as each row's device has them.
std::vector<TimeComparison> Compare(const std::vector<CalibrationRow>& rows,
                                    const TimingConstants& constants,
                                    const std::vector<Constant>& ids) {
  std::map<const TimingDevice*, TimingDevice> devices;
  std::vector<TimeComparison> out;
  for (const CalibrationRow& row : rows) {
    TimingDevice& device = devices.emplace(row.device, *row.device).first->second;
    device.constants = row.device->constants;
    for (const Constant id : ids) device.constants[id] = constants[id];
    for (const ConstantDef& def : ConstantDefs()) {
      if (IsRange(def.id)) device.constants[def.id] = constants[def.id];
    }
    const TimeRange time = ExpectedRange(device, row.latency);
    out.push_back({row.latency.measured, row.latency.bound, row.latency.naive, time.expected,
                   time.low, time.high});
  }
  return out;
}

// The range that holds four of five errors, per class of kernels.
void SetRanges(const std::vector<CalibrationRow>& rows, const std::vector<Constant>& ids,
               TimingConstants& constants) {
  std::map<Constant, std::vector<double>> errors;
  const std::vector<TimeComparison> compared = Compare(rows, constants, ids);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    errors[RangeOf(rows[i].latency)].push_back(
        std::abs(std::log(compared[i].expected / compared[i].measured)));
  }
  for (const auto& [constant, values] : errors) {
    const ConstantDef& def = Def(constant);
    constants[constant] = std::clamp(Quantile(values, kRangeShare), def.low, def.high);
  }
}

}  // namespace

bool IsFitRow(const LatencyRow& row, double fit_share) {
  // FNV-1a over the values in the order of the columns' names; the measured time is left out, so
  // that a repeated measurement falls on the same side.
  std::uint64_t hash = 14695981039346656037ull;
  for (const auto& [column, value] : row.fields) {
    if (column == "latency_us") continue;
    for (const char c : value + "|") {
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    }
  }
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccdull;
  hash ^= hash >> 33;
  return static_cast<double>(hash >> 11) * 0x1.0p-53 < fit_share;
}

std::vector<CalibrationRow> Sample(const std::vector<CalibrationRow>& rows, std::size_t most) {
  // Rows come in the random order of the tables, or in one that repeats: every n-th of a kind.
  std::map<std::array<std::string, 4>, std::vector<std::size_t>> kinds;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const LatencyCase& c = rows[i].latency;
    kinds[{c.device, c.source, c.dtype, c.type}].push_back(i);
  }
  std::vector<CalibrationRow> result;
  for (const auto& [kind, members] : kinds) {
    const std::size_t count = std::min(most, members.size());
    for (std::size_t i = 0; i < count; ++i) {
      result.push_back(rows[members[i * members.size() / count]]);
    }
  }
  return result;
}

Calibration Calibrate(const std::vector<CalibrationRow>& rows,
                      const std::vector<CalibrationRow>& held_out, const TimingConstants& start,
                      const std::vector<Constant>& fixed, const CalibrationOptions& options) {
  if (rows.size() < kFewestRows) {
    throw Error("{} rows are too few to fit constants, {} are the least", rows.size(), kFewestRows);
  }
  Calibration result;
  result.before = Summarize(Compare(held_out, start, {}));
  Fitting fit(rows, options);
  std::vector<Constant> held = fixed;
  Parameters parameters;
  Eigen::VectorXd errors;
  TimingConstants reached = start;
  while (true) {
    parameters = Sensitive(fit, start, held);
    parameters.MoveTo(reached);
    result.iterations += Minimize(fit, parameters, start, options, errors);
    reached = parameters.Apply(start, parameters.now);
    const std::optional<std::size_t> farthest = parameters.FarthestAtLimit();
    if (!farthest) break;
    const Constant id = parameters.ids[*farthest];
    result.refused.push_back({.constant = id, .start = start[id], .value = reached[id]});
    held.push_back(id);
  }
  result.values = parameters.Apply(start, parameters.now);
  SetRanges(rows, parameters.ids, result.values);
  for (std::size_t j = 0; j < parameters.ids.size(); ++j) {
    const Constant id = parameters.ids[j];
    const double error = errors[static_cast<Eigen::Index>(j)];
    result.constants.push_back({id, start[id], result.values[id],
                                parameters.scales[j].Relative(error, result.values[id])});
  }
  result.fitted = Summarize(Compare(rows, result.values, parameters.ids));
  result.held_out = Summarize(Compare(held_out, result.values, parameters.ids));
  return result;
}

}  // namespace dlcost
