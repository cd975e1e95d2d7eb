#pragma once

#include <string>
#include <vector>

#include "estimator/calibrate/calibrate.h"

namespace dlcost {

// The time model's constants of devices of one architecture, fitted to measured latencies.
struct CalibrationRequest {
  std::vector<std::string> devices;    // names; fitted together
  std::vector<std::string> tables;     // CSV files of measured latencies (docs/timing.md)
  std::vector<std::string> sources;    // only rows of these; none: all
  std::vector<std::string> fixed;      // constants that are not fitted
  std::vector<std::string> overrides;  // where to start: "timing.launch.graph=3us"
  // Fits the constants that architectures share to all the devices; each keeps its own for the
  // others.
  bool common = false;
  double fit_share = 0.4;  // of the rows; the rest scores the fit
  std::size_t sample = 0;  // rows of each device, source, type and operator at most; 0: all
  CalibrationOptions fit;
};

struct DeviceCalibration {
  std::vector<std::string> devices, files;  // ids, and the names of tables that rows came from
  std::size_t fitted_rows = 0, held_out_rows = 0;
  TimingConstants start;
  Calibration result;
};
// Throws Error for tables that cannot be read, and where they have too few rows of the devices.
DeviceCalibration CalibrateDevices(const CalibrationRequest& request);

// A `timing:` section for the devices' file in hw_specs/.
std::string TimingYaml(const DeviceCalibration& calibration);

}  // namespace dlcost
