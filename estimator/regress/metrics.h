#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/report/report.h"

namespace dlcost {

// What a number counts, which decides how it is printed.
enum class MetricUnit { kMacs, kFlops, kBytes, kSeconds, kNumber };

// What one node, or a set of nodes, costs. Differences of two costs may be negative.
struct Cost {
  std::int64_t macs = 0, flops = 0, bytes = 0, parameters = 0, weight_bytes = 0;
  double bound = 0, expected = 0;  // seconds

  Cost& operator+=(const Cost& other);
  friend Cost operator-(const Cost& a, const Cost& b);
  bool IsZero() const;
};
// Of every node of the report, such that all of them add up to the totals: work is the node's own,
// traffic and times of a kernel stand at its main node, a weight at the first node that reads it.
std::vector<Cost> NodeCosts(const Report& report);
// The sum of the above.
Cost TotalCost(const Report& report);

// A number of a report that differences, budgets and pages show: one table for all of them.
struct TotalMetric {
  std::string_view name;   // as in JSON and in budgets: "weight_bytes"
  std::string_view title;  // as printed: "weights"
  MetricUnit unit;
  // None when the report does not have it (times without a device).
  std::optional<double> (*total)(const Report& report);
  // Of one node; null for metrics that only a whole model has.
  double (*node)(const Cost& cost);
  // How the number stands to what really happens; null where it is exact whatever is open.
  Standing (*standing)(const Doubt& doubt) = nullptr;

  Standing StandingOf(const Doubt& doubt) const {
    return standing == nullptr ? Standing::kExact : standing(doubt);
  }
};
const std::vector<TotalMetric>& Metrics();
// Throws Error with the nearest spelling.
const TotalMetric& FindMetric(const std::string& name);

// "4.09 GMAC", "1.22 ms", "25,557,032": three digits with a unit, or a whole number.
std::string FormatMetric(double value, MetricUnit unit);
// The same with a sign.
std::string FormatChange(double difference, MetricUnit unit);
// "+2.5 %", "0.0 %", "new" when there was nothing before.
std::string FormatPercent(double before, double after);

}  // namespace dlcost
