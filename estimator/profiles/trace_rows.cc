#include "estimator/profiles/trace_rows.h"

namespace dlcost {

void TellRanges(const Spans& spans, std::size_t index, const NamePool& names,
                std::vector<bool>& told, MeasuredKernel& kernel) {
  std::int64_t range = -1;  // the innermost
  for (const std::int64_t i : Ancestors(spans, static_cast<std::int64_t>(index))) {
    const Span& outer = spans[static_cast<std::size_t>(i)];
    if (outer.level != kLayerLevel) continue;
    kernel.scope.push_back(names.Name(outer.name));
    range = i;
  }
  if (range < 0) return;
  if (Once(told, range)) {
    const Span& marked = spans[static_cast<std::size_t>(range)];
    kernel.host = Seconds(static_cast<double>(marked.end - marked.start) * 1e-9);
  }
  kernel.op = kernel.scope.back();
}

}  // namespace dlcost
