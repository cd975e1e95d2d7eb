#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/regress/budget.h"

namespace dlcost {
namespace {

constexpr std::int64_t kMostPoints = 10'000;  // each is a report

SizeList One(std::int64_t size) { return {.ranges = {{.first = size, .last = size}}}; }

// "8"; "1 to 64" where there are several.
std::string Text(const SizeList& sizes) {
  std::vector<std::int64_t> all = sizes.Sizes();
  const auto [low, high] = std::minmax_element(all.begin(), all.end());
  return *low == *high ? fmt::format("{}", *low) : fmt::format("{} to {}", *low, *high);
}

}  // namespace

bool CheckConditions::IsRange() const {
  const auto several = [](const SizeList& sizes) { return sizes.Count() > 1; };
  return (batch && several(*batch)) || std::any_of(dims.begin(), dims.end(), [&](const auto& dim) {
           return several(dim.second);
         });
}

std::vector<CheckConditions> CheckConditions::Points() const {
  std::vector<CheckConditions> points = {{.gpu = gpu}};
  const auto spread = [&](const SizeList& sizes, auto set) {
    if (sizes.Count() > kMostPoints / static_cast<std::int64_t>(points.size())) {
      throw Error("a check goes through {} sizes at most; take fewer, as 1:1024:x2 does",
                  kMostPoints);
    }
    std::vector<CheckConditions> more;
    for (const CheckConditions& point : points) {
      for (const std::int64_t size : sizes.Sizes()) set(more.emplace_back(point), One(size));
    }
    points = std::move(more);
  };
  if (batch) spread(*batch, [](CheckConditions& at, SizeList one) { at.batch = std::move(one); });
  for (const auto& [name, sizes] : dims) {
    spread(sizes,
           [&key = name](CheckConditions& at, SizeList one) { at.dims[key] = std::move(one); });
  }
  return points;
}

std::string CheckConditions::SizesText() const {
  std::vector<std::string> words;
  if (batch) words.push_back("batch=" + Text(*batch));
  for (const auto& [name, sizes] : dims) words.push_back(Printable(name) + "=" + Text(sizes));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string CheckConditions::NameOf(const CheckConditions& point) const {
  CheckConditions told = point;
  if (!batch || batch->Count() == 1) told.batch.reset();
  for (const auto& [name, sizes] : dims) {
    if (sizes.Count() == 1) told.dims.erase(name);
  }
  return told.SizesText();
}

}  // namespace dlcost
