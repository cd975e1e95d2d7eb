#include "estimator/regress/page.h"

#include <algorithm>
#include <utility>

#include "estimator/regress/diff.h"
#include "estimator/regress/render_diff.h"
#include "estimator/regress/wording.h"

namespace dlcost {
namespace {

// "dlcost: resnet50.onnx on a100-sxm4-80gb and h100-sxm5", "dlcost: old.onnx and new.onnx on t4".
std::string TitleOf(const std::vector<HtmlReport>& reports) {
  std::vector<std::string> models, devices;
  const auto add = [](std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const HtmlReport& one : reports) {
    add(models, FileTitle(*one.report));
    if (one.report->device) add(devices, one.report->device->id);
  }
  const std::string on = devices.empty() ? "" : " on " + ListNames(devices);
  return "dlcost: " + ListNames(models) + on;
}

PageChanges ChangesOf(const Report& first, const Report& report) {
  constexpr std::size_t kMost = 20;
  const ReportDiff diff = DiffReports(first, report);
  PageChanges changes{.headline = Headline(diff), .sentences = diff.Notes(), .more = 0};
  for (const Change& change : diff.changes) {
    if (changes.sentences.size() >= kMost) {
      ++changes.more;
    } else {
      changes.sentences.push_back(change.where + ": " + Sentence(change, first));
    }
  }
  return changes;
}

}  // namespace

std::string PageOf(std::vector<HtmlReport> reports, std::string title) {
  if (title.empty()) title = TitleOf(reports);
  for (std::size_t i = 1; i < reports.size(); ++i) {
    reports[i].changes = ChangesOf(*reports.front().report, *reports[i].report);
  }
  return RenderHtml(reports, title);
}

}  // namespace dlcost
