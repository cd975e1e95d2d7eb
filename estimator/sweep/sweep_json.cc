#include <algorithm>

#include "estimator/sweep/sweep_render.h"

namespace dlcost {
namespace {

class SweepWriter {
 public:
  SweepWriter(const Sweep& sweep, const SweepRenderOptions& options, JsonWriter& json)
      : sweep_(sweep), options_(options), json_(json) {}

  void Run(const std::vector<SweepPoint>& points) {
    json_.BeginObject();
    json_.Member("schema", kSweepSchema);
    json_.Member("model", sweep_.model->path);
    json_.Member("runtime", RuntimesOf(sweep_));
    json_.Member("runtime_given", sweep_.setups.front().report.runtime_given);
    json_.Key("axes");
    json_.BeginArray();
    for (const SweepAxis& axis : sweep_.axes) json_.Value(axis.name);
    json_.EndArray();
    json_.Key("points");
    json_.BeginArray();
    for (const SweepPoint& point : points) WritePoint(point);
    json_.EndArray();
    if (!sweep_.devices.empty()) {
      json_.Key("curves");
      json_.BeginArray();
      for (const SweepCurve& curve : CurvesOf(sweep_, points)) WriteCurve(curve);
      json_.EndArray();
      WriteList("front", ParetoFront(points));
      if (!options_.conditions.empty() || !options_.rank.empty()) {
        WriteList("best", Ranked(sweep_, options_, points));
      }
    }
    json_.Key("distributions");
    json_.BeginArray();
    for (const SweepDistribution& row : DistributionsOf(sweep_, points)) WriteDistribution(row);
    json_.EndArray();
    json_.EndObject();
    json_.Finish();
  }

 private:
  void WriteSizes(const Point& sizes, std::optional<std::size_t> without = {}) {
    json_.Key("sizes");
    json_.BeginObject();
    for (std::size_t a = 0; a < sizes.size(); ++a) {
      if (a != without) json_.Member(sweep_.axes[a].name, sizes[a]);
    }
    json_.EndObject();
  }

  void WriteWhere(std::size_t device, std::size_t setup) {
    if (!sweep_.devices.empty()) json_.Member("device", sweep_.devices[device].id);
    const SweepSetup& how = sweep_.setups[setup];
    json_.Member("dtype", how.dtype);
    if (sweep_.setups.size() == 1) return;
    json_.Member("precision", how.precision);
    json_.Member("train", how.train);
    json_.Member("runtime", how.report.runtime);
  }

  void WritePoint(const SweepPoint& point) {
    json_.BeginObject();
    WriteWhere(point.device, point.setup);
    WriteSizes(point.sizes);
    if (!point.why_not.empty()) {
      json_.Member("error", point.why_not);
      json_.EndObject();
      return;
    }
    json_.Member("items", point.items);
    json_.Member("tokens", point.tokens);
    json_.Member("macs", point.macs);
    json_.Member("flops", point.flops);
    json_.Member("bytes", point.bytes);
    json_.Member("intensity", point.intensity());
    json_.Member("memory_bytes", point.needed);
    json_.Member("exact", point.exact);
    if (!sweep_.devices.empty()) {
      json_.Member("fits", point.fits);
      json_.Member("bound_s", point.bound);
      json_.Member("expected_s", point.expected);
      json_.Member("expected_low_s", point.expected_low);
      json_.Member("expected_high_s", point.expected_high);
      json_.Member("items_per_s", point.items_per_second());
      json_.Member("tokens_per_s", point.tokens_per_second());
      json_.Member("watts", point.watts);
      json_.Member("joules_per_item", point.joules_per_item());
      json_.Member("joules_per_item_at_most", JoulesPerItem(sweep_, point));
      if (!options_.price.empty()) {
        json_.Member("cost_per_million", options_.CostOf(sweep_, point));
      }
      json_.Member("limited_by", point.limiter);
    }
    json_.EndObject();
  }

  void WriteSizeOf(std::string_view name, const SweepPoint* point, std::size_t axis) {
    json_.Key(name);
    if (point == nullptr) {
      json_.Null();
    } else {
      json_.Value(point->sizes[axis]);
    }
  }

  void WriteCurve(const SweepCurve& curve) {
    const std::optional<std::size_t> axis = CurveAxis(sweep_);
    if (!axis) return;
    json_.BeginObject();
    WriteWhere(curve.device, curve.setup);
    WriteSizes(curve.fixed, axis);
    json_.Member("along", sweep_.axes[*axis].name);
    WriteSizeOf("best_at", curve.best, *axis);
    json_.Member("best_items_per_s",
                 curve.best == nullptr ? std::nullopt : curve.best->items_per_second());
    json_.Member("best_tokens_per_s",
                 curve.best == nullptr ? std::nullopt : curve.best->tokens_per_second());
    json_.Member("by_tokens", curve.by_tokens);
    WriteSizeOf("saturated_at", curve.saturated, *axis);
    json_.Member("saturates", curve.saturates);
    WriteSizeOf("largest_that_fits", curve.largest, *axis);
    json_.Member("all_fit", curve.all_fit);
    json_.Key("limits");
    json_.BeginArray();
    for (const SweepCurve::Stretch& stretch : curve.limits) {
      json_.BeginObject();
      json_.Member("from", stretch.from);
      json_.Member("to", stretch.to);
      json_.Member("limited_by", stretch.limiter);
      json_.EndObject();
    }
    json_.EndArray();
    WriteFalls(curve, *axis);
    json_.EndObject();
  }

  void WriteFalls(const SweepCurve& curve, std::size_t axis) {
    const std::vector<SweepFall> falls = FallsOf(sweep_, curve, explanations_);
    explanations_ -= std::min(explanations_, falls.size());
    json_.Key("falls");
    json_.BeginArray();
    for (const SweepFall& fall : falls) {
      json_.BeginObject();
      json_.Member("from", fall.from->sizes[axis]);
      json_.Member("to", fall.to->sizes[axis]);
      json_.Member("share", fall.share);
      if (!fall.op.empty()) {
        json_.Member("op", fall.op);
        json_.Member("node", fall.node);
        json_.Member("units", fall.units);
        json_.Member("by_waves", fall.by_waves);
        WriteRun("before", fall.before);
        WriteRun("after", fall.after);
      }
      json_.EndObject();
    }
    json_.EndArray();
  }

  void WriteRun(std::string_view name, const SweepFall::Run& run) {
    json_.Key(name);
    json_.BeginObject();
    json_.Member("algorithm", run.algorithm);
    json_.Member("expected_s", run.time);
    json_.Member("tiles", run.tiles);
    json_.Member("waves", run.waves);
    json_.EndObject();
  }

  void WriteList(std::string_view name, const std::vector<const SweepPoint*>& points) {
    json_.Key(name);
    json_.BeginArray();
    for (const SweepPoint* point : points) WritePoint(*point);
    json_.EndArray();
  }

  void WriteDistribution(const SweepDistribution& row) {
    json_.BeginObject();
    WriteWhere(row.device, row.setup);
    WriteSizes(row.fixed, row.axis);
    json_.Member("of", sweep_.axes[row.axis].name);
    json_.Member("items", row.items);
    json_.Member("batch", row.batch);
    json_.Member("mean_flops", row.mean_flops);
    const SweepDistribution::Way& longest = *row.Find(Batching::kLongest);
    json_.Member("padding", longest.padding);
    if (row.timed) {
      json_.Member("mean_s", row.mean);
      json_.Member("p50_s", row.p50);
      json_.Member("p90_s", row.p90);
      json_.Member("p99_s", row.p99);
      json_.Member("longest_s", row.longest);
      json_.Member("total_s", row.Find(Batching::kOneLength)->total);
      json_.Member("total_padded_s", longest.total);
    }
    json_.Key("buckets");
    json_.BeginArray();
    for (const std::int64_t end : sweep_.axes[row.axis].buckets) json_.Value(end);
    json_.EndArray();
    json_.Key("batched");
    json_.BeginArray();
    for (const SweepDistribution::Way& way : row.ways) {
      json_.BeginObject();
      json_.Member("how", Name(way.batching));
      json_.Member("padding", way.padding);
      json_.Member("flops", way.flops);
      if (row.timed) json_.Member("total_s", way.total);
      json_.EndObject();
    }
    json_.EndArray();
    json_.EndObject();
  }

  const Sweep& sweep_;
  const SweepRenderOptions& options_;
  JsonWriter& json_;
  std::size_t explanations_ = kExplanations;  // that are left
};

}  // namespace

void WriteSweepJson(const Sweep& sweep, const SweepRenderOptions& options,
                    const std::vector<SweepPoint>& points, const TextSink& sink) {
  JsonWriter json(sink);
  SweepWriter(sweep, options, json).Run(points);
}

}  // namespace dlcost
