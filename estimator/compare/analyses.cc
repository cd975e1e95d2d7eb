#include "estimator/compare/analyses.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "estimator/compare/compare.h"
#include "estimator/compare/tally.h"

namespace dlcost {
namespace {

template <typename KeyOf>
std::vector<SliceRow> Slice(const std::vector<CompareRow>& rows, const KeyOf& key_of) {
  std::map<std::string, std::size_t> known;
  std::vector<SliceRow> slices;
  for (const CompareRow& row : rows) {
    std::map<std::size_t, bool> seen;
    for (const MeasuredPart& part : row.measured.parts) {
      const std::string key = key_of(part);
      const auto [at, added] = known.emplace(key, slices.size());
      if (added) slices.push_back({.key = key, .family = std::string(Name(part.told.family))});
      SliceRow& slice = slices[at->second];
      slice.operators += seen.emplace(at->second, true).second ? 1 : 0;
      slice.launches += part.launches;
      Sum(slice.flops, part.vector_flops);
      Sum(slice.bytes, part.dram_bytes);
      Sum(slice.time, part.time);
    }
  }
  const auto weight = [](const SliceRow& slice) {
    return std::tuple(slice.time ? slice.time->value() : 0, slice.flops.value_or(0),
                      slice.launches);
  };
  std::stable_sort(slices.begin(), slices.end(),
                   [&](const SliceRow& a, const SliceRow& b) { return weight(a) > weight(b); });
  return slices;
}

}  // namespace

std::optional<double> SliceRow::intensity() const {
  if (!flops || !bytes || *bytes <= 0) return std::nullopt;
  return *flops / *bytes;
}

std::vector<SliceRow> ByKernel(const std::vector<CompareRow>& rows) {
  return Slice(rows, [](const MeasuredPart& part) { return part.name; });
}

std::vector<SliceRow> ByAlgorithm(const std::vector<CompareRow>& rows) {
  return Slice(rows, [](const MeasuredPart& part) {
    return std::string(part.told.algorithm.empty() ? Name(part.told.family) : part.told.algorithm);
  });
}

}  // namespace dlcost
