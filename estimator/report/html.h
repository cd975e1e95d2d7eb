#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/hardware/device.h"
#include "estimator/report/report.h"

namespace dlcost {

// A report on a page, with what the charts want beside it.
struct HtmlReport {
  const Report* report = nullptr;
  const Device* device = nullptr;  // for its roofs and sources; null when the report has none
  // Measured time of each of the report's kernels, where there is one; empty for none.
  std::vector<std::optional<Seconds>> measured = {};
};

// One self-contained page: roofline, time by scope and operator, memory, kernels, device facts;
// with several reports a comparison. Needs no network. Names from the model cannot inject anything.
std::string RenderHtml(const std::vector<HtmlReport>& reports, const std::string& title);

}  // namespace dlcost
