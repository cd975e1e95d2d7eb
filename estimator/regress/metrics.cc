#include "estimator/regress/metrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <cmath>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/report/format.h"

namespace dlcost {
namespace {

std::optional<double> WithDevice(const Report& report, double value) {
  if (!report.device) return std::nullopt;
  return value;
}

std::int64_t Status(const Report& report, NodeStatus status) {
  const auto found = report.coverage.find(status);
  return found == report.coverage.end() ? 0 : found->second;
}

std::int64_t Launches(const Report& report) {
  Count launches;
  for (const KernelRow& kernel : report.kernels) launches += kernel.launches;
  return launches.value();
}

std::vector<TotalMetric> MakeMetrics() {
  using Unit = MetricUnit;
  return {
      {"macs", "MACs", Unit::kMacs,
       [](const Report& r) { return std::optional(r.totals.macs.AsDouble()); },
       [](const Cost& c) { return static_cast<double>(c.macs); }, MacsStanding},
      {"flops", "FLOPs", Unit::kFlops,
       [](const Report& r) { return std::optional(r.totals.flops.AsDouble()); },
       [](const Cost& c) { return static_cast<double>(c.flops); }, FlopsStanding},
      {"bytes", "traffic", Unit::kBytes,
       [](const Report& r) { return std::optional(r.totals.bytes().AsDouble()); },
       [](const Cost& c) { return static_cast<double>(c.bytes); }, BytesStanding},
      {"parameters", "parameters", Unit::kNumber,
       [](const Report& r) { return std::optional(r.model.parameters.AsDouble()); },
       [](const Cost& c) { return static_cast<double>(c.parameters); }},
      {"weight_bytes", "weights", Unit::kBytes,
       [](const Report& r) { return std::optional(r.model.weight_bytes.AsDouble()); },
       [](const Cost& c) { return static_cast<double>(c.weight_bytes); }},
      {"peak_activation_bytes", "peak activations", Unit::kBytes,
       [](const Report& r) { return std::optional(r.peak_activation_bytes.AsDouble()); }, nullptr,
       PeakStanding},
      {"bound_s", "bound", Unit::kSeconds,
       [](const Report& r) { return WithDevice(r, r.totals.bound.value()); },
       [](const Cost& c) { return c.bound; }, BoundStanding},
      {"expected_s", "expected time", Unit::kSeconds,
       [](const Report& r) {
         return r.totals.expected ? std::optional(r.totals.expected->value()) : std::nullopt;
       },
       [](const Cost& c) { return c.expected; }, ExpectedStanding},
      {"step_s", "step of the job", Unit::kSeconds,
       [](const Report& r) { return r.job ? std::optional(r.job->step.value()) : std::nullopt; },
       nullptr},
      {"exposed_s", "exposed communication", Unit::kSeconds,
       [](const Report& r) { return r.job ? std::optional(r.job->exposed.value()) : std::nullopt; },
       nullptr},
      {"sent_bytes", "sent by a device", Unit::kBytes,
       [](const Report& r) { return r.job ? std::optional(r.job->sent.AsDouble()) : std::nullopt; },
       nullptr},
      {"device_bytes", "memory of a device", Unit::kBytes,
       [](const Report& r) {
         return r.job ? std::optional(r.job->memory.AsDouble()) : std::nullopt;
       },
       nullptr},
      {"nodes", "nodes", Unit::kNumber,
       [](const Report& r) { return std::optional(static_cast<double>(r.model.nodes)); }, nullptr},
      {"launches", "kernel launches", Unit::kNumber,
       [](const Report& r) { return std::optional(static_cast<double>(Launches(r))); }, nullptr},
      {"unknown", "unknown nodes", Unit::kNumber,
       [](const Report& r) {
         return std::optional(static_cast<double>(Status(r, NodeStatus::kUnknown)));
       },
       nullptr},
      {"bounded", "nodes of unknown work", Unit::kNumber,
       [](const Report& r) {
         return std::optional(static_cast<double>(Status(r, NodeStatus::kBounded)));
       },
       nullptr},
  };
}

// 1,234,567
std::string Grouped(double value) {
  std::string digits = fmt::format("{:.0f}", std::abs(value));
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

// "4.089 GMAC", "512 MAC".
std::string WithUnit(double value, const std::string& unit) {
  const std::string text = Readable(value);
  const bool has_prefix = std::isalpha(static_cast<unsigned char>(text.back())) != 0;
  return text + (has_prefix ? "" : " ") + unit;
}

std::string Magnitude(double value, MetricUnit unit) {
  switch (unit) {
    case MetricUnit::kMacs:
      return WithUnit(value, "MAC");
    case MetricUnit::kFlops:
      return WithUnit(value, "FLOP");
    case MetricUnit::kBytes:
      return WithUnit(value, "B");
    case MetricUnit::kSeconds:
      return value == 0 ? "0 s" : ReadableTime(Seconds(value));
    case MetricUnit::kNumber:
      break;
  }
  return Grouped(value);
}

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  macs += other.macs;
  flops += other.flops;
  bytes += other.bytes;
  parameters += other.parameters;
  weight_bytes += other.weight_bytes;
  bound += other.bound;
  expected += other.expected;
  return *this;
}

Cost operator-(const Cost& a, const Cost& b) {
  return {a.macs - b.macs,
          a.flops - b.flops,
          a.bytes - b.bytes,
          a.parameters - b.parameters,
          a.weight_bytes - b.weight_bytes,
          a.bound - b.bound,
          a.expected - b.expected};
}

bool Cost::IsZero() const {
  return macs == 0 && flops == 0 && bytes == 0 && parameters == 0 && weight_bytes == 0 &&
         bound == 0 && expected == 0;
}

std::vector<Cost> NodeCosts(const Report& report) {
  std::vector<Cost> costs(report.nodes.size());
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const NodeRow& node = report.nodes[i];
    costs[i].macs = node.sums.macs.value();
    costs[i].flops = node.sums.flops.value();
    costs[i].parameters = node.parameters.value();
    costs[i].weight_bytes = node.weight_bytes.value();
  }
  for (const KernelRow& kernel : report.kernels) {
    Cost& main = costs[kernel.main];
    main.bytes += kernel.sums.bytes().value();
    main.bound += kernel.sums.bound.value();
    main.expected += kernel.sums.expected.value_or(Seconds(0)).value();
  }
  return costs;
}

Cost TotalCost(const Report& report) {
  const Sums& totals = report.totals;
  return {totals.macs.value(),
          totals.flops.value(),
          totals.bytes().value(),
          report.model.parameters.value(),
          report.model.weight_bytes.value(),
          totals.bound.value(),
          totals.expected.value_or(Seconds(0)).value()};
}

const std::vector<TotalMetric>& Metrics() {
  static const std::vector<TotalMetric> metrics = MakeMetrics();
  return metrics;
}

const TotalMetric& FindMetric(const std::string& name) {
  std::vector<std::string> names;
  for (const TotalMetric& metric : Metrics()) {
    if (metric.name == name) return metric;
    names.emplace_back(metric.name);
  }
  throw Error("no metric '{}'{}; metrics: {}", Printable(name), DidYouMean(name, names),
              fmt::join(names, ", "));
}

std::string FormatMetric(double value, MetricUnit unit) {
  return (value < 0 ? "-" : "") + Magnitude(std::abs(value), unit);
}

std::string FormatChange(double difference, MetricUnit unit) {
  return (difference > 0 ? "+" : "") + FormatMetric(difference, unit);
}

std::string FormatPercent(double before, double after) {
  if (before == 0) return after == 0 ? "0.0 %" : "new";
  const double percent = 100 * (after / before - 1);
  // "-0.0 %" says nothing that "0.0 %" does not.
  if (std::abs(percent) < 0.05) {
    if (after == before) return "0.0 %";
    const char* sign = percent > 0 ? "+" : "-";
    return std::abs(percent) < 0.01 ? fmt::format("{}<0.01 %", sign)
                                    : fmt::format("{:+.2f} %", percent);
  }
  return fmt::format("{:+.1f} %", percent);
}

}  // namespace dlcost
