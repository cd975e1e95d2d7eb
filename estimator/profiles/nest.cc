#include "estimator/profiles/nest.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "estimator/core/integer.h"
#include "estimator/profiles/trace.h"

namespace dlcost {
namespace {

constexpr double kMostRows = 0.8;  // of the rows

// Where a row lies on the profiler's clock; nothing for rows of several launches.
std::optional<Span> SpanOf(const MeasuredKernel& row, int level) {
  const auto start = row.StartNs();
  if (!start || !row.duration || row.launches != 1) return std::nullopt;
  const auto length = TryTruncate(std::round(row.duration->value() * 1e9));
  Span span;
  span.start = *start;
  if (!length || __builtin_add_overflow(*start, *length, &span.end)) return std::nullopt;
  span.level = static_cast<std::int16_t>(level);
  return span;
}

class Nest {
 public:
  Nest(Measurement& inner, const Measurement& outer) : inner_(inner), outer_(outer) {}

  NestedRows Run() {
    AddOuter();
    for (const LaunchCall& call : outer_.launch_calls) calls_.emplace(call.correlation, &call);
    AddInner();
    if (rows_.empty() || spans_.size() == rows_.size()) return {};
    FindParents(spans_);
    told_.resize(spans_.size());
    NestedRows nested{.rows = 0, .of = static_cast<std::int64_t>(rows_.size())};
    for (std::size_t i = 0; i < rows_.size(); ++i) nested.rows += OperatorOf(i) >= 0;
    const bool most = static_cast<double>(nested.rows) > kMostRows * static_cast<double>(nested.of);
    if (!most) return {.rows = 0, .of = nested.of};
    for (std::size_t i = 0; i < rows_.size(); ++i) Tell(i);
    if (inner_.ranges.empty()) inner_.ranges = outer_.ranges;
    return nested;
  }

 private:
  void AddOuter() {
    for (const MeasuredRange& range : outer_.ranges) {
      Span span;
      span.start = range.start;
      span.end = range.end;
      span.level = kModelLevel;
      names_.push_back(&range.name);
      spans_.push_back(span);
    }
    for (const MeasuredKernel& row : outer_.kernels) {
      if (row.kind != MeasuredKind::kOp) continue;
      const auto span = SpanOf(row, kLayerLevel);
      if (!span) continue;
      operators_.emplace(spans_.size(), &row);
      names_.push_back(&row.name);
      spans_.push_back(*span);
    }
  }

  void AddInner() {
    first_ = spans_.size();
    for (MeasuredKernel& row : inner_.kernels) {
      if (row.kind != MeasuredKind::kKernel || !row.op.empty()) continue;
      auto span = SpanOf(row, kKernelLevel);
      if (!span) continue;
      const auto call = row.correlation ? calls_.find(*row.correlation) : calls_.end();
      if (call != calls_.end()) {
        span->start = call->second->start;
        span->end = call->second->end;
      }
      // Kernels of other streams run beside each other: none is another's part.
      span->track = static_cast<std::uint32_t>(rows_.size()) + 1;
      rows_.push_back(&row);
      spans_.push_back(*span);
    }
  }

  // The span of the operator that a row lies in; -1 for none.
  std::int64_t OperatorOf(std::size_t i) const {
    std::int64_t at = spans_[first_ + i].parent;
    while (at >= 0 && spans_[static_cast<std::size_t>(at)].level != kLayerLevel)
      at = spans_[static_cast<std::size_t>(at)].parent;
    return at;
  }

  void Tell(std::size_t i) {
    const std::int64_t at = OperatorOf(i);
    if (at < 0) return;
    MeasuredKernel& row = *rows_[i];
    const MeasuredKernel& op = *operators_.at(static_cast<std::size_t>(at));
    row.op = op.name;
    row.op_type = op.op_type;
    row.module = op.module;
    row.call = at;
    if (Once(told_, at)) row.host = op.duration;
    std::vector<std::string> scope;
    for (const std::int64_t a : Ancestors(spans_, at))
      scope.push_back(*names_[static_cast<std::size_t>(a)]);
    scope.push_back(op.name);
    row.scope = std::move(scope);
  }

  Measurement& inner_;
  const Measurement& outer_;
  Spans spans_;
  std::vector<const std::string*> names_;                             // of the outer spans
  std::unordered_map<std::size_t, const MeasuredKernel*> operators_;  // by span
  std::unordered_map<std::int64_t, const LaunchCall*> calls_;
  std::vector<bool> told_;             // operators whose time a row tells as its host's
  std::size_t first_ = 0;              // span of the first inner row
  std::vector<MeasuredKernel*> rows_;  // of `inner`, as their spans
};

}  // namespace

NestedRows NestRows(Measurement& inner, const Measurement& outer) {
  return Nest(inner, outer).Run();
}

}  // namespace dlcost
