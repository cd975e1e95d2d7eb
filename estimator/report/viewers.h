#pragma once

#include <string>

#include "estimator/report/report.h"

namespace dlcost {

// A report for other people's viewers. Both lay the kernels out one after another, each for its
// expected time (its bound where there is none); they throw Error for a report without a device,
// which knows no times.

// Kernels over time as Chrome's trace events, which Perfetto (ui.perfetto.dev) and
// chrome://tracing open: times in microseconds, one slice per kernel that is launched.
std::string RenderPerfetto(const Report& report);

// Where the time goes by module, operator and kernel, for speedscope.app: its file format's
// "sampled" profile, a sample per kernel, weights in nanoseconds.
std::string RenderSpeedscope(const Report& report);

}  // namespace dlcost
