#include "estimator/compare/compare_totals.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "estimator/compare/tally.h"
#include "estimator/core/integer.h"

namespace dlcost {
namespace {

double Pearson(const std::vector<std::pair<double, double>>& points) {
  double mean_x = 0, mean_y = 0;
  const auto n = static_cast<double>(points.size());
  for (const auto& [x, y] : points) mean_x += x / n, mean_y += y / n;
  double xx = 0, yy = 0, xy = 0;
  for (const auto& [x, y] : points) {
    xx += (x - mean_x) * (x - mean_x);
    yy += (y - mean_y) * (y - mean_y);
    xy += (x - mean_x) * (y - mean_y);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

// Of pairs (predicted, measured).
std::optional<RatioStatistics> StatisticsOf(const std::vector<std::pair<double, double>>& points) {
  std::vector<double> ratios;
  for (const auto& [predicted, measured] : points) {
    if (predicted > 0) ratios.push_back(measured / predicted);
  }
  if (ratios.empty()) return std::nullopt;
  std::sort(ratios.begin(), ratios.end());
  const std::size_t n = ratios.size();
  RatioStatistics statistics;
  statistics.rows = n;
  statistics.median = (ratios[(n - 1) / 2] + ratios[n / 2]) / 2;
  // Nearest rank: the smallest value that 90 % of the rows do not exceed.
  statistics.p90 = ratios[Truncate<std::size_t>(std::ceil(0.9 * static_cast<double>(n))) - 1];
  if (points.size() >= 3) statistics.correlation = Pearson(points);
  return statistics;
}

class Totals {
 public:
  Totals(const Report& report, Comparison& out) : report_(report), out_(out) {}

  void Run() {
    CompareTotals& totals = out_.totals;
    std::map<std::string, OpTotals> by_op;
    std::vector<std::pair<double, double>> flops, bytes, time;
    for (const KernelRow& kernel : report_.kernels) totals.algorithmic += AlgorithmicFlops(kernel);
    for (const KernelRow& kernel : report_.kernels) totals.executed += kernel.executed;
    totals.predicted_bytes = report_.totals.bytes();
    if (report_.device) {
      totals.bound = report_.totals.bound;
      totals.expected = report_.totals.expected;
      if (totals.expected && InKernels()) {
        totals.expected_run = std::exchange(totals.expected, Seconds(0));
        for (const KernelRow& kernel : report_.kernels) Sum(totals.expected, kernel.on_device);
      }
    }
    std::map<std::string, OpTotals> timed;  // of rows with a measured time alone
    std::vector<bool> counted(report_.kernels.size(), false);
    for (const CompareRow& row : out_.rows) {
      // Counters and times of two files that sum up differently stand in rows of their own.
      const Flops joined = Fresh(row, counted);
      totals.joined_algorithmic += joined;
      Sum(totals.measured_flops, row.measured_flops);
      Sum(totals.measured_bytes, row.measured.dram_bytes);
      Sum(totals.measured, row.measured.time);
      if (row.measured_flops && !row.beside)
        flops.emplace_back(row.algorithmic.AsDouble(), *row.measured_flops);
      if (row.measured.dram_bytes && !row.beside)
        bytes.emplace_back(row.predicted_bytes.AsDouble(), *row.measured.dram_bytes);
      const auto predicted = row.expected ? row.expected : row.bound;
      if (row.measured.time && predicted)
        time.emplace_back(predicted->value(), row.measured.time->value());
      OpTotals& op = by_op[row.op];
      op.op = row.op;
      ++op.rows;
      op.algorithmic += joined;
      Sum(op.measured_flops, row.measured_flops);
      Sum(op.predicted, predicted);
      Sum(op.measured, row.measured.time);
      if (!row.measured.time) continue;
      timed[row.op].algorithmic += row.algorithmic;
      Sum(timed[row.op].predicted, predicted);
    }
    for (const auto& [name, of] : timed) {
      by_op[name].algorithmic = of.algorithmic;
      by_op[name].predicted = of.predicted;
    }
    for (const UnmatchedKernel& kernel : out_.unmatched_kernels) {
      Sum(totals.unmatched_flops, kernel.vector_flops);
      Sum(totals.unmatched, kernel.time);
    }
    out_.flops = StatisticsOf(flops);
    out_.bytes = StatisticsOf(bytes);
    out_.time = StatisticsOf(time);
    for (auto& [name, op] : by_op) out_.by_op.push_back(std::move(op));
    std::stable_sort(out_.by_op.begin(), out_.by_op.end(),
                     [](const OpTotals& a, const OpTotals& b) {
                       if (a.measured != b.measured)
                         return a.measured.value_or(Seconds(0)) > b.measured.value_or(Seconds(0));
                       return a.algorithmic > b.algorithmic;
                     });
    FindWorst();
  }

 private:
  // The algorithm's work of a row that no row before it has.
  Flops Fresh(const CompareRow& row, std::vector<bool>& counted) const {
    Flops fresh, known;
    for (const std::size_t k : row.covers) {
      (counted[k] ? known : fresh) += AlgorithmicFlops(report_.kernels[k]);
      counted[k] = true;
    }
    return known == Flops() ? row.algorithmic : fresh;
  }

  // Whether times are those of kernels, which a framework calls.
  bool InKernels() const {
    return report_.options.run.Calls() &&
           std::any_of(out_.rows.begin(), out_.rows.end(), [](const CompareRow& row) {
             return row.measured.time && row.time_level == TraceLevel::kKernel;
           });
  }

  // The rows by how much their difference weighs: in seconds, behind them in FLOPs where no time
  // was measured.
  void FindWorst() {
    std::vector<std::pair<double, std::size_t>> off, by_flops;
    for (std::size_t r = 0; r < out_.rows.size(); ++r) {
      const CompareRow& row = out_.rows[r];
      if (row.beside) continue;
      const auto predicted = row.expected ? row.expected : row.bound;
      if (row.measured.time && predicted) {
        off.emplace_back(std::abs((*row.measured.time - *predicted).value()), r);
      } else if (row.measured_flops) {
        by_flops.emplace_back(std::abs(*row.measured_flops - row.algorithmic.AsDouble()), r);
      }
    }
    for (auto* list : {&off, &by_flops}) {
      std::stable_sort(list->begin(), list->end(),
                       [](const auto& a, const auto& b) { return a.first > b.first; });
      for (const auto& [weight, row] : *list) out_.worst.push_back(row);
    }
  }

  const Report& report_;
  Comparison& out_;
};

}  // namespace

Flops AlgorithmicFlops(const KernelRow& kernel) {
  const bool products = kernel.sums.macs > Macs(0);
  return products ? Flops(kernel.sums.macs.count() * 2) : kernel.sums.flops;
}

void AddTotals(const Report& report, Comparison& comparison) { Totals(report, comparison).Run(); }

}  // namespace dlcost
