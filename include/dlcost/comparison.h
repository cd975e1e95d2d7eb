#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlcost/report.h"

namespace dlcost::api {

// Which files of profilers (docs/measuring.md); formats are found out by content.
struct Measurements {
  std::vector<std::string> measured;  // with counters, or times, or both
  std::vector<std::string> traces;    // whose times count: runs without counters
  std::string format;                 // "": found out
  std::optional<std::int64_t> runs;   // how often the model ran; inferred without
  bool force = false;                 // compare also with what does not look like this model
};

// A predicted kernel beside what was measured for it, per run of the model.
struct ComparedKernel {
  std::string node, op, kernel;
  std::int64_t algorithmic_flops = 0, executed_flops = 0, predicted_bytes = 0;
  std::optional<double> expected_s, bound_s, measured_s, measured_flops, measured_bytes;
  std::optional<double> flops_ratio, bytes_ratio, time_ratio;  // measured over predicted
  std::string why;  // what explains the difference; "" where nothing needs to
};

class Comparison {
 public:
  std::vector<ComparedKernel> kernels() const;
  std::vector<std::string> notes() const;
  // Kernels whose ratio of FLOPs (of time, where no FLOPs were measured) lies outside.
  std::vector<ComparedKernel> outside(double low, double high) const;
  // `by`: tables by layer, op, kernel (its name) or algorithm as well.
  std::string Text(std::size_t top = 0, const std::vector<std::string>& by = {}) const;
  std::string Json() const;  // schema dlcost.compare/1
  std::string Csv() const;
  std::string Markdown(std::size_t top = 0, const std::vector<std::string>& by = {}) const;
  // The page of what was measured. Without a `title`: the model's name.
  std::string Html(const std::string& title = "") const;
  // The page of the report, with what was measured of each kernel.
  std::string ReportHtml(const std::string& title = "") const;

  struct State;
  explicit Comparison(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

// Throws Error for files that cannot be read or, unless forced, do not look like this model.
Comparison Compare(const Report& report, const Measurements& measurements);

}  // namespace dlcost::api
