#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "estimator/regress/diff.h"
#include "estimator/regress/render_diff.h"
#include "estimator/regress/wording.h"
#include "estimator/report/fields/names.h"
#include "estimator/report/fields/vocabulary.h"

// Every field of a difference's JSON, in the order in which it is written
// (report/fields/vocabulary.h). What a field means: docs/schema/fields.txt.

namespace dlcost {

inline constexpr std::string_view kDiffSchema = "dlcost.diff/1";

template <>
inline constexpr ChangeKind fields::kLast<ChangeKind> = ChangeKind::kMoved;

void Fields(auto& v, fields::IsA<Cost> auto& cost) {
  v.Field("macs", cost.macs);
  v.Field("flops", cost.flops);
  v.Field("bytes", cost.bytes);
  v.Field("parameters", cost.parameters);
  v.Field("weight_bytes", cost.weight_bytes);
  v.If(v.timed(), "bound_s", cost.bound);
  v.If(v.timed(), "expected_s", cost.expected);
}

// Seconds are real; everything else is counted.
void Fields(auto& v, const TotalRow& row) {
  const auto side = [&](std::string_view name, const std::optional<double>& value) {
    if (row.metric->unit == MetricUnit::kSeconds) {
      v.Field(name, fields::Told{value});
    } else {
      v.Field(name, fields::Number(value));
    }
  };
  side("before", row.before);
  side("after", row.after);
}

namespace fields {

// One of the two reports; all else of it is in a document of its own.
void Side(auto& v, const Report& report) {
  std::map<std::string, std::int64_t> dims = report.model.dims;
  v.Field("path", Told{report.model.path});
  v.Field("device", Told{report.device ? std::optional(report.device->id) : std::nullopt});
  v.Field("runtime", Told{report.options.runtime});
  v.Field("dims", Map(dims));
}

// By names of metrics.
struct TotalsOfDiff {
  const ReportDiff& diff;

  void Each(auto take) const {
    for (const TotalRow& row : TotalRows(diff)) take(row.metric->name, row);
  }
  void Append(std::string_view, auto fill) const {
    TotalRow row{.metric = &Metrics().front(), .before = {}, .after = {}};
    fill(row);
  }
  static constexpr std::string_view kSample = "";
};

void OfChange(auto& v, IsA<Change> auto& change, const ReportDiff& diff) {
  v.Field("kind", change.kind);
  v.Field("where", change.where);
  v.Field("what", change.what);
  v.Field("sentence", Told{[&] { return Sentence(change, *diff.before); }});
  v.Field("before", change.before);
  v.Field("after", change.after);
  v.Field("cost", change.cost);
  v.Field("followers", change.followers);
  v.Field("follower_cost", change.follower_cost);
}

}  // namespace fields

void Fields(auto& v, fields::IsA<ReportDiff> auto& diff) {
  fields::TotalsOfDiff totals{diff};
  v.Field("schema", fields::Told{kDiffSchema});
  v.Field("before", fields::Object{[&](auto& in) { fields::Side(in, *diff.before); }});
  v.Field("after", fields::Object{[&](auto& in) { fields::Side(in, *diff.after); }});
  v.Field("notes", fields::Told{diff.Notes()});
  v.Field("totals", fields::Map(totals));
  v.Field("same", diff.same);
  v.Field("renamed", diff.renamed);
  v.Field("changes", fields::List(diff.changes, [&](auto& in, auto& change) {
            fields::OfChange(in, change, diff);
          }));
  v.Field("rest", diff.rest);
}

}  // namespace dlcost
