#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dlcost::api {

// A column of measured runs as powers of another one, against what theory says.
struct FitRequest {
  std::string path;                 // a table of runs: a header, one row per run
  std::string x, y;                 // columns; "hidden^2" for a square
  std::vector<int> terms = {1, 0};  // powers of x from -2 to 4; 0 is the baseline
  std::map<int, double> expected;   // coefficients that theory tells, by power
};

struct FittedTerm {
  int power = 0;
  double value = 0;
  std::optional<double> standard_error;   // none with as many terms as points
  std::optional<double> expected, ratio;  // measured over expected
  std::optional<bool> within_two_standard_errors;
};

class FittedRuns {
 public:
  std::vector<FittedTerm> terms() const;
  std::int64_t runs() const;
  double r_squared() const;
  double largest_residual() const;  // as a share of its run
  std::string Text() const;
  std::string Json() const;  // schema dlcost.fit/1

  struct State;
  explicit FittedRuns(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

// Throws Error for a table that cannot be read and for powers that it does not tell apart.
FittedRuns FitRuns(const FitRequest& request);

// The time model's constants of devices of one architecture, fitted to measured latencies
// (docs/timing.md).
struct CalibrationRequest {
  std::vector<std::string> devices;  // names; fitted together
  std::vector<std::string> tables;   // CSV files of measured latencies
  std::vector<std::string> sources;  // only rows of these; none: all
  std::vector<std::string> fixed;    // constants that are not fitted
  std::vector<std::string> changes;  // where to start: "timing.launch.graph=3us"
  // Fits the constants that architectures share to all the devices; each keeps its own for the
  // others.
  bool common = false;
  double fit_share = 0.4;         // of the rows; the rest scores the fit
  std::size_t sample = 0;         // rows of each device, source, type and operator at most; 0: all
  std::optional<int> iterations;  // at most
  std::optional<double> prior;    // how strongly constants are held at where they start
};

// Errors of expected times, of (expected - measured) / measured.
struct TimingScore {
  std::size_t rows = 0;
  double mean = 0, median = 0;  // of its size
  double bias = 0;
};
struct CalibratedConstant {
  std::string name;
  double start = 0, value = 0;  // in its unit
  std::string unit;             // "s", "B/clk", "pJ/FLOP/nm", "x" (a factor), "" (a share)
  double relative_error = 0;    // one standard error, as a share of the value
  bool refused = false;         // ran to an end of its range (`value`), and stays where it started
};
struct CalibratedTiming {
  std::vector<std::string> devices;
  std::vector<CalibratedConstant> constants;
  TimingScore before, held_out, fitted;  // rows held out with the starting values; with the fit
  std::string yaml;                      // a `timing:` section for the device's file
};

// Throws Error for tables that cannot be read, and where they have too few rows of the devices.
CalibratedTiming Calibrate(const CalibrationRequest& request);

}  // namespace dlcost::api
