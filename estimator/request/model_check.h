#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "estimator/regress/check.h"
#include "estimator/request/job.h"
#include "estimator/request/source.h"

namespace dlcost {

// What a model may cost, under one or several sets of conditions.
struct ModelCheckRequest {
  Source source;  // the model or a report of it, with its single sizes
  // Sizes of dimensions, "" for the batch: every limit holds at each combination of them. Those of
  // the budget file come first.
  std::vector<std::pair<std::string, SizeList>> sizes;
  // To compare with, models or reports: none, one, or one for each set of conditions.
  struct Baseline {
    std::string path;
    const Report* report = nullptr;  // instead, where it was made already
    const Model* model = nullptr;
  };
  std::vector<Baseline> baselines;
  std::string budget;                    // a file of limits and conditions (docs/ci.md); "": none
  std::vector<std::string> max;          // "macs=+2%"
  std::vector<std::string> fits_on;      // names of devices
  std::string system;                    // of a job on many devices; "": none
  const System* found_system = nullptr;  // instead, where it was found already
  JobPlan plan;
  bool forbid_new_operators = false;
  bool strict = false, exact = false;
  std::function<void()> on_checked;  // called for each combination of sizes
};

class ModelCheck {
 public:
  // Throws Error for a budget file, a limit or a device that there is not.
  explicit ModelCheck(ModelCheckRequest request);

  // Sets of conditions.
  std::size_t size() const { return file_.on.size(); }
  // Combinations of sizes of one of them.
  std::size_t PointsOf(std::size_t i) const;
  // All requirements under the i-th conditions; of a range of sizes the worst of each. Without any,
  // nothing may cost more than the baseline; throws Error without this one, too.
  CheckRun Run(std::size_t i) const;
  // What is to be the baseline under the i-th conditions from now on.
  Report NewBaseline(std::size_t i) const;
  const ModelCheckRequest::Baseline* BaselineOf(std::size_t i) const;

 private:
  void AddSizes(CheckConditions& on) const;
  Source Under(const CheckConditions& on) const;
  Source Alone(Source source) const;
  bool HasJob() const;
  void AddJob(const Source& source, Report& report) const;
  std::optional<Report> ReadBaseline(const Source& source, std::size_t i) const;
  CheckRun RunAt(std::size_t i, const CheckConditions& on) const;
  CheckRun RunRange(std::size_t i) const;

  ModelCheckRequest request_;
  BudgetFile file_;
  CheckRequest limits_;
};

}  // namespace dlcost
