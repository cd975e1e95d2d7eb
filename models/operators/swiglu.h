#pragma once

#include <cmath>
#include <limits>
#include <optional>

#include "models/operators/op_context.h"

namespace dlcost {

// What com.microsoft's experts bound gate and value of SwiGLU by; none where they are free.
inline std::optional<double> SwigluLimit(const OpContext& ctx) {
  const double limit = ctx.Float("swiglu_limit", std::numeric_limits<double>::infinity());
  return std::isfinite(limit) ? std::optional(limit) : std::nullopt;
}

}  // namespace dlcost
