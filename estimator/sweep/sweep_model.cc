#include "estimator/sweep/sweep_model.h"

#include <algorithm>
#include <set>

#include "estimator/core/error.h"
#include "estimator/infer/infer_once.h"
#include "estimator/infer/open_dims.h"
#include "estimator/infer/retype.h"
#include "estimator/sweep/power.h"

namespace dlcost {
namespace {

// Elements of the first input that is a table of integers: words of texts.
std::optional<std::int64_t> TokensOf(const InferredModel& model) {
  const Graph& graph = model.model->graph;
  for (const TensorId id : graph.inputs) {
    const Tensor& input = graph.tensors[static_cast<std::size_t>(id)];
    const bool integers = input.type.dtype == DType::kInt64 || input.type.dtype == DType::kInt32;
    if (integers && input.type.shape && input.type.shape->rank() == 2) {
      return input.type.shape->Elements().value();
    }
  }
  return std::nullopt;
}

void SetTimes(const Report& report, const Device& device, SweepPoint& point) {
  point.bound = report.totals.bound;
  if (report.totals.expected) {
    point.expected = report.totals.expected;
    point.expected_low = report.expected_low;
    point.expected_high = report.expected_high;
    point.watts = ExpectedWatts(device, *point.expected, report.expected_busy);
    GroupRow all;
    for (const GroupRow& group : report.by_op) {
      for (const auto& [term, seconds] : group.waits_for) all.waits_for[term] += seconds;
    }
    point.limiter = all.LimitedBy();
  }
  point.fits = report.fits();
}

}  // namespace

SweepModel::SweepModel(const Sweep& sweep) : sweep_(sweep) {}

InferredModel SweepModel::Infer(const Point& sizes, std::size_t setup) const {
  InferOptions options = sweep_.infer;
  for (std::size_t a = 0; a < sweep_.axes.size(); ++a) {
    if (sweep_.axes[a].batch) {
      options.bindings.batch = sizes[a];
    } else {
      options.bindings.dims[sweep_.axes[a].name] = sizes[a];
    }
  }
  InferredModel model = InferUnadvised(*sweep_.model, options);
  const SweepSetup& how = sweep_.setups[setup];
  if (how.derive) model = how.derive(std::move(model), options);
  if (!how.dtype.empty()) Retype(model, *ParseDType(how.dtype));
  return model;
}

std::int64_t SweepModel::ItemsOf(const InferredModel& model, const Point& sizes) const {
  for (std::size_t a = 0; a < sweep_.axes.size(); ++a) {
    if (sweep_.axes[a].batch) return sizes[a];
  }
  if (sweep_.infer.bindings.batch) return *sweep_.infer.bindings.batch;
  const std::set<std::string> batch = BatchDims(OpenDimsOf(*sweep_.model));
  for (const std::string& key : batch) {
    const auto bound = model.dims.symbols.find(key);
    if (bound != model.dims.symbols.end()) return bound->second;
  }
  return 1;
}

void SweepModel::SetSizes(const InferredModel& model, SweepPoint& point) const {
  // A step passes as many batches as it adds gradients up of.
  const std::int64_t passes = model.step ? model.step->micro_batches.value() : 1;
  point.items = passes * ItemsOf(model, point.sizes);
  if (const std::optional<std::int64_t> tokens = TokensOf(model)) point.tokens = passes * *tokens;
}

std::vector<SweepPoint> SweepModel::At(const Point& sizes) const {
  std::vector<SweepPoint> points;
  for (std::size_t setup = 0; setup < sweep_.setups.size(); ++setup) {
    for (SweepPoint& point : At(sizes, setup)) points.push_back(std::move(point));
  }
  return points;
}

std::vector<SweepPoint> SweepModel::At(const Point& sizes, std::size_t setup) const {
  std::vector<SweepPoint> points;
  std::optional<InferredModel> model;
  std::string why_not;
  try {
    model = Infer(sizes, setup);
  } catch (const Error& error) {
    why_not = error.what();
  }
  const std::size_t devices = std::max<std::size_t>(sweep_.devices.size(), 1);
  for (std::size_t device = 0; device < devices; ++device) {
    SweepPoint point{.sizes = sizes, .setup = setup, .device = device, .why_not = why_not};
    if (model) {
      ReportOptions options = sweep_.setups[setup].report;
      options.detail = ReportDetail::kOperators;
      const auto on = sweep_.devices.empty() ? std::nullopt : std::optional(sweep_.devices[device]);
      const Report report = BuildReport(*model, on, options);
      SetSizes(*model, point);
      point.macs = report.totals.macs.count();
      point.flops = report.totals.flops.count();
      point.bytes = report.totals.bytes().count();
      point.needed = report.needed().count();
      point.exact = report.certainty.Exact();
      if (report.device) SetTimes(report, *on, point);
      if (sweep_.bounds_only) {
        point.by_bound = true;
        point.expected = point.expected_low = point.expected_high = std::nullopt;
        point.watts = std::nullopt;
        point.limiter.clear();
      }
    }
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace dlcost
