#include "dlcost/comparison.h"

#include "estimator/api/state.h"
#include "estimator/compare/compare.h"
#include "estimator/compare/kernel_measurements.h"
#include "estimator/core/spelling.h"
#include "estimator/profiles/reader.h"
#include "estimator/regress/page.h"

namespace dlcost::api {

struct Comparison::State {
  Report report;
  dlcost::Comparison comparison;
};

Comparison::Comparison(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Comparison Compare(const Report& report, const Measurements& measurements) {
  return Guarded([&] {
    if (measurements.measured.empty() && measurements.traces.empty()) {
      throw dlcost::Error("nothing measured to compare with");
    }
    std::vector<Measurement> measured, traces;
    for (const std::string& path : measurements.measured) {
      measured.push_back(
          ReadMeasurementFile(path, {.format = measurements.format, .ranges_alone = true}));
    }
    for (const std::string& path : measurements.traces) {
      traces.push_back(ReadMeasurementFile(path, {.ranges_alone = true}));
    }
    const Report::State& state = report.state();
    auto compared = std::make_shared<const Comparison::State>(
        Comparison::State{report, dlcost::Compare(state.report, measured, traces, state.device,
                                                  {.runs = measurements.runs})});
    if (!measurements.force) RequireBelief(compared->comparison);
    return Comparison(std::move(compared));
  });
}

namespace {

ComparedKernel KernelOf(const CompareRow& row) {
  const auto seconds = [](const std::optional<Seconds>& time) {
    return time ? std::optional(time->value()) : std::nullopt;
  };
  return {.node = row.node,
          .op = row.op,
          .kernel = row.kernel,
          .algorithmic_flops = row.algorithmic.value(),
          .executed_flops = row.executed.value(),
          .predicted_bytes = row.predicted_bytes.value(),
          .expected_s = seconds(row.expected),
          .bound_s = seconds(row.bound),
          .measured_s = seconds(row.measured.time),
          .measured_flops = row.measured_flops,
          .measured_bytes = row.measured.dram_bytes,
          .flops_ratio = row.flops_ratio,
          .bytes_ratio = row.bytes_ratio,
          .time_ratio = row.time_ratio,
          .why = row.why};
}

CompareTextOptions LookOf(std::size_t top, const std::vector<std::string>& by) {
  for (const std::string& one : by) RequireOneOf("by", one, {"layer", "op", "kernel", "algorithm"});
  return {.top = top, .by = by};
}

}  // namespace

std::vector<ComparedKernel> Comparison::kernels() const {
  std::vector<ComparedKernel> kernels;
  for (const CompareRow& row : state_->comparison.rows) kernels.push_back(KernelOf(row));
  return kernels;
}
std::vector<ComparedKernel> Comparison::outside(double low, double high) const {
  return Guarded([&] {
    if (!(low >= 0 && low <= high)) {
      throw dlcost::Error("--ratio {}:{} is not LOW:HIGH, for example 0.8:1.25", low, high);
    }
    std::vector<ComparedKernel> kernels;
    for (const std::size_t r : RowsOutside(state_->comparison, low, high)) {
      kernels.push_back(KernelOf(state_->comparison.rows.at(r)));
    }
    return kernels;
  });
}
std::vector<std::string> Comparison::notes() const { return state_->comparison.notes; }
std::string Comparison::Text(std::size_t top, const std::vector<std::string>& by) const {
  return Guarded([&] { return RenderCompareText(state_->comparison, LookOf(top, by)); });
}
std::string Comparison::Json() const {
  return Guarded([&] { return RenderCompareJson(state_->comparison); });
}
std::string Comparison::Csv() const {
  return Guarded([&] { return RenderCompareCsv(state_->comparison); });
}
std::string Comparison::Markdown(std::size_t top, const std::vector<std::string>& by) const {
  return Guarded([&] { return RenderCompareMarkdown(state_->comparison, LookOf(top, by)); });
}

std::string Comparison::Html(const std::string& title) const {
  return Guarded([&] {
    const std::optional<dlcost::Device> device = state_->report.state().DeviceForPage();
    return RenderCompareHtml(state_->comparison, device ? &*device : nullptr, title);
  });
}
std::string Comparison::ReportHtml(const std::string& title) const {
  return Guarded([&] {
    const Report::State& state = state_->report.state();
    const std::optional<dlcost::Device> device = state.DeviceForPage();
    const dlcost::Report report = state.ForPage();
    HtmlReport page{&report, device ? &*device : nullptr};
    page.measured = KernelMeasurements(state_->comparison, report);
    return PageOf({page}, title);
  });
}

}  // namespace dlcost::api
