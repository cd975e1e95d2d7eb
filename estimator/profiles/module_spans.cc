#include "estimator/profiles/module_spans.h"

#include <algorithm>
#include <tuple>

namespace dlcost {

void ModuleSpans::Add(std::uint32_t thread, std::int64_t start, std::int64_t end,
                      std::string_view call) {
  threads_[thread].push_back(
      {.start = start, .end = end, .name = names_.Id(call.substr(kPrefix.size()))});
}

void ModuleSpans::Nest() {
  for (auto& [thread, calls] : threads_) {
    std::stable_sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
      return std::tuple(a.start, -a.end) < std::tuple(b.start, -b.end);
    });
    std::vector<std::int64_t> open;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      while (!open.empty() && calls[static_cast<std::size_t>(open.back())].end < calls[i].end) {
        open.pop_back();
      }
      if (!open.empty()) calls[i].parent = open.back();
      open.push_back(static_cast<std::int64_t>(i));
    }
  }
}

std::string ModuleSpans::At(std::uint32_t thread, std::int64_t time) const {
  constexpr std::size_t kMostDepth = 64;  // deeper ones are no model's
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return "";
  const std::vector<Call>& calls = found->second;
  const auto later =
      std::upper_bound(calls.begin(), calls.end(), time,
                       [](std::int64_t t, const Call& call) { return t < call.start; });
  std::int64_t at = later - calls.begin() - 1;
  while (at >= 0 && calls[static_cast<std::size_t>(at)].end < time) {
    at = calls[static_cast<std::size_t>(at)].parent;
  }
  std::string path;
  for (std::size_t depth = 0; at >= 0 && depth < kMostDepth; ++depth) {
    const Call& call = calls[static_cast<std::size_t>(at)];
    path = names_.Name(call.name) + (path.empty() ? "" : "/") + path;
    at = call.parent;
  }
  return path;
}

}  // namespace dlcost
