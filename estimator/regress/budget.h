#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "estimator/infer/sizes.h"
#include "estimator/regress/metrics.h"

namespace dlcost {

// How much is allowed: a number, or so much more than the baseline has.
struct Limit {
  enum class Kind { kAbsolute, kGrowth, kRelative };
  Kind kind = Kind::kAbsolute;
  double value = 0;  // in base units; of kRelative, a fraction: 0.02 for "+2 %"

  bool NeedsBaseline() const { return kind != Kind::kAbsolute; }
};
// "8.2 GFLOP", "25e6", "1.5 ms", "40 MB", "3 GiB"; "+10 MB", "-5 MB"; "+2 %". Throws Error.
Limit ParseLimit(const std::string& text, MetricUnit unit);
// "8.200 GFLOP", "+2.0 %".
std::string LimitText(const Limit& limit, MetricUnit unit);

// Which nodes a budget is about; all when every pattern is empty.
struct Subset {
  std::string op;     // operator, with * and ?
  std::string scope;  // module path, and everything below it
  std::string node;   // node name, with * and ?

  bool All() const { return op.empty() && scope.empty() && node.empty(); }
  bool Contains(const NodeRow& row) const;
};

struct Budget {
  const TotalMetric* metric = nullptr;
  Subset subset;
  Limit max;
};
// "MACs of Conv", "expected time of encoder/3".
std::string BudgetText(const Budget& budget);
// "macs=+2%", "macs[op:Conv]=1 G", "bytes[scope:layer4]=+0 %", "macs[node:*conv1*]=1G". Throws
// Error.
Budget ParseBudget(const std::string& text);
// Throws Error for a metric that only a whole model has.
void RequireNodeMetric(const Budget& budget);

// Conditions under which the budgets are checked; what is empty is as the command line says. Sizes
// may be several: every limit holds at each combination of them.
struct CheckConditions {
  std::string gpu;
  std::optional<SizeList> batch;
  std::map<std::string, SizeList> dims;

  bool IsRange() const;
  // One for each combination, of single sizes, the last dimension running fastest. Throws Error for
  // more than a check should take.
  std::vector<CheckConditions> Points() const;
  // "batch=1 to 64, sequence=128".
  std::string SizesText() const;
  // The same of what `points` of this differ in: "batch=8".
  std::string NameOf(const CheckConditions& point) const;
};

struct BudgetFile {
  std::vector<CheckConditions> on;
  std::vector<Budget> budgets;
  bool forbid_new_operators = false;
  std::vector<std::string> fits_on;
};
// Reads docs/ci.md's budget file. Throws Error as "file:line: what", with the nearest spelling of a
// key or metric.
BudgetFile ReadBudgetFile(const std::string& path);
BudgetFile ReadBudgetText(const std::string& text, const std::string& path);

}  // namespace dlcost
