#include <fmt/format.h>

#include <algorithm>

#include "estimator/regress/check.h"

namespace dlcost {
namespace {

// How near a requirement is to being broken: above 1 it is.
double Strain(const CheckItem& item) {
  if (!item.value || !item.allowed) return item.passed ? 0 : 2;
  if (*item.allowed > 0) return *item.value / *item.allowed;
  return item.passed ? 0 : 1 + *item.value;
}

// "resnet50.onnx on a100, runtime generic": what comes before the sizes of a run.
std::string Before(const std::string& title) {
  return title.substr(0, title.find(", ", title.rfind("runtime ")));
}

}  // namespace

CheckRun OverRange(const std::string& range, const std::vector<std::string>& points,
                   const std::vector<CheckRun>& runs) {
  CheckRun all{.title = fmt::format("{}, {} ({} sizes)", Before(runs[0].title), range, runs.size()),
               .path = runs[0].path};
  for (const CheckRun& run : runs) {
    for (const std::string& note : run.notes) {
      if (std::find(all.notes.begin(), all.notes.end(), note) == all.notes.end()) {
        all.notes.push_back(note);
      }
    }
  }
  for (std::size_t i = 0; i < runs[0].items.size(); ++i) {
    std::size_t most = 0;
    std::vector<std::string> broken;
    for (std::size_t p = 0; p < runs.size(); ++p) {
      const CheckItem& item = runs[p].items[i];
      if (!item.passed) broken.push_back(points[p]);
      const CheckItem& worst = runs[most].items[i];
      if (item.passed != worst.passed ? !item.passed : Strain(item) > Strain(worst)) most = p;
    }
    CheckItem item = runs[most].items[i];
    item.point = points[most];
    item.detail =
        broken.empty()
            ? fmt::format("nearest at {}: {}", item.point, item.detail)
            : fmt::format("broken at {} of {} sizes, first at {}, most at {}: {}", broken.size(),
                          runs.size(), broken.front(), item.point, item.detail);
    item.broken = std::move(broken);
    all.items.push_back(std::move(item));
  }
  return all;
}

}  // namespace dlcost
