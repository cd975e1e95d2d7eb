#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/hardware/device.h"
#include "estimator/infer/infer.h"
#include "estimator/report/report.h"
#include "estimator/roofline/expected.h"

namespace dlcost {

inline constexpr std::string_view kExplainSchema = "dlcost.explain/2";

// The expected time of one kernel, step by step.
struct Explanation {
  std::string model;                // path
  std::string device, device_name;  // id and name
  std::string runtime, runtime_text;
  bool runtime_given = false;
  std::string node, kernel;
  std::vector<std::string> nodes;
  std::string algorithm;
  std::string tile;  // "" none
  Count launches;
  Bytes bytes, executed_bytes;  // of the operands; with what the algorithm moves beside them
  std::vector<TimeTerm> terms;  // below each other by their level
  TimeRange time;
  TimingBasis basis = TimingBasis::kMeasured;
  std::string limited_by;
  Seconds bound;
  std::string bound_limited_by;
  bool upper_bound = false, assumed = false;  // what its counts are
  std::vector<std::string> measured_on;       // devices whose measurements set the constants
  bool constants_assumed = false;             // no kernel of such a machine was measured
  std::string constants_of;  // where no row of the architecture was measured: whose they are
  std::vector<std::string> advice;
};

// The kernel of `node`; "": the one that takes longest. `options` are those of a report. Throws
// Error for a node that is not there, with the nearest spelling, and for a kernel without an
// expected time.
Explanation Explain(const InferredModel& model, const Device& device, const ReportOptions& options,
                    const std::string& node);

// `width`: columns of the terminal, 0: any number.
std::string ExplanationText(const Explanation& explanation, std::size_t width = 0);
std::string ExplanationJson(const Explanation& explanation);

}  // namespace dlcost
