#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/hardware/device.h"
#include "estimator/report/report.h"

namespace dlcost {

// What is other in a report than in the first one of its page, in words.
struct PageChanges {
  std::string headline;                // "3 changes"; "" for nothing to tell
  std::vector<std::string> sentences;  // the largest effect first
  std::size_t more = 0;                // changes without a sentence here
};

// What a profile tells of a kernel.
struct KernelMeasurement {
  std::optional<Seconds> time;
  std::optional<double> flops, bytes;  // executed; moved to and from device memory
};

// A report on a page, with what the charts want beside it.
struct HtmlReport {
  const Report* report = nullptr;
  const Device* device = nullptr;  // for its roofs and sources; null when the report has none
  // Of each of the report's kernels; empty where nothing was measured.
  std::vector<KernelMeasurement> measured = {};
  PageChanges changes = {};
};

// One self-contained page: roofline, time by scope and operator, memory, kernels, device facts;
// with several reports a comparison. Needs no network. Names from the model cannot inject anything.
std::string RenderHtml(const std::vector<HtmlReport>& reports, const std::string& title);

}  // namespace dlcost
