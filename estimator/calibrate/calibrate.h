#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estimator/calibrate/accuracy.h"
#include "estimator/calibrate/latency_case.h"

namespace dlcost {

// A measured row with the device it was measured on: rows of several devices of an architecture
// can be fitted together.
struct CalibrationRow {
  LatencyCase latency;
  const TimingDevice* device = nullptr;  // everything but the constants that are being fitted
};

struct CalibrationOptions {
  int iterations = 60;
  // Errors (of the logarithm) beyond this count less and less: outliers do not steer the fit.
  double robust_scale = 0.07;
  // How strongly constants are held at where they start, for those that the rows say little about.
  double prior = 3e-4;
};

struct FittedConstant {
  Constant constant = Constant::kLaunchGraph;
  double start = 0, value = 0;
  double relative_error = 0;  // one standard error, as a share of the value
};

struct Calibration {
  std::vector<FittedConstant> constants;  // those that the rows depend on, in the order of Constant
  // Those that ran to an end of their range, with that end as value: the rows ask for something
  // else than the constant stands for. Refused: they stay where they started, and the others are
  // fitted again without them.
  std::vector<FittedConstant> refused;
  TimingConstants values;             // all of them
  Accuracy before, fitted, held_out;  // held-out rows with the starting values; the fit
  int iterations = 0;
};

// Least squares on log(expected / measured) over the constants that change any prediction, within
// their ranges. Starts from `start`; `fixed` constants stay as each row's device has them, so that
// rows of several architectures can be fitted together. Also sets the range.* constants from
// the errors of the rows that were fitted. `held_out` rows are only scored. Throws Error for fewer
// than 20 rows.
Calibration Calibrate(const std::vector<CalibrationRow>& rows,
                      const std::vector<CalibrationRow>& held_out, const TimingConstants& start,
                      const std::vector<Constant>& fixed, const CalibrationOptions& options);

// At most `most` rows of each device, source, type and operator, evenly spaced: tables with many
// rows of one kind do not outvote the others.
std::vector<CalibrationRow> Sample(const std::vector<CalibrationRow>& rows, std::size_t most);

// Whether a row belongs to the share that is fitted, by a hash of what it describes: the same in
// every run and on every machine.
bool IsFitRow(const LatencyRow& row, double fit_share);

}  // namespace dlcost
