#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/hardware/device.h"
#include "estimator/regress/budget.h"
#include "estimator/regress/diff.h"

namespace dlcost {

// One requirement and how it stands.
struct CheckItem {
  std::string name;    // "MACs of Conv"
  std::string detail;  // "10.60 GMAC, was 4.089 GMAC (+159.3 %); at most +2 % (4.171 GMAC)"
  bool passed = true;
  // In base units, of limits of a number: what is, what was, what may be.
  std::optional<double> value, baseline, allowed;
  // What made it fail, the largest part first: "/layer3/0/conv2/Conv: strides 2,2 -> 1,1: +6.2
  // GMAC"
  std::vector<std::string> offenders;
  std::vector<std::string> reasons;  // the same without what each one costs
  // Of a requirement over a range of sizes: the size that all of the above is of, and those that
  // break the requirement, in order. "batch=64".
  std::string point;
  std::vector<std::string> broken;
};

// All requirements under one set of conditions.
struct CheckRun {
  std::string title;  // "resnet50.onnx on a100-sxm4-80gb, batch=1"
  std::string path;   // of the model
  std::vector<CheckItem> items;
  std::vector<std::string> notes;  // a stale baseline, other conditions

  bool Passed() const;
};

struct CheckRequest {
  std::vector<Budget> budgets;
  bool forbid_new_operators = false;
  bool strict = false;  // nothing may be unknown
  bool exact = false;   // nothing may be an upper bound, assumed or unknown
  std::vector<Device> fits_on;
};

// "Not more than the baseline" for every total: what is checked when nothing else is asked for.
std::vector<Budget> NoGrowth(const Report& report);

// The runs at all sizes of a range as one: of every requirement the size that breaks it most, or
// comes nearest to that. `points` name the sizes, `range` all of them; at least one.
CheckRun OverRange(const std::string& range, const std::vector<std::string>& points,
                   const std::vector<CheckRun>& runs);

// Throws Error when a budget needs a baseline or a device that is not there.
CheckRun RunCheck(const Report& report, const Report* baseline, const CheckRequest& request);

// Why a baseline may not be worth comparing with: other peaks of the device, other conventions or
// sizes, fields that an older dlcost did not write.
std::vector<std::string> StaleReasons(const ReportDiff& diff);

}  // namespace dlcost
