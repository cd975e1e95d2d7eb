#include "models/decompositions/decomposition.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace dlcost {
namespace {

using Table = std::map<std::pair<std::string_view, std::string_view>, const Decomposition*>;

Table AllDecompositions() {
  const std::array families = {AliasDecompositions(),         PointwiseDecompositions(),
                               ProductDecompositions(),       ConvolutionDecompositions(),
                               NormalizationDecompositions(), SignalDecompositions(),
                               RecurrentDecompositions(),     AttentionDecompositions()};
  Table table;
  for (const std::span<const Decomposition> family : families) {
    for (const Decomposition& each : family)
      table.emplace(std::pair(each.domain, each.name), &each);
  }
  return table;
}

}  // namespace

std::vector<Attribute> FusedNode::AttributesWithout(
    std::span<const std::string_view> without) const {
  std::vector<Attribute> kept = node_.attributes;
  std::erase_if(kept, [&](const Attribute& attribute) {
    return std::any_of(without.begin(), without.end(), [&](std::string_view prefix) {
      return attribute.name.compare(0, prefix.size(), prefix) == 0;
    });
  });
  return kept;
}

const Decomposition* FindDecomposition(std::string_view domain, std::string_view name) {
  static const Table kTable = AllDecompositions();
  const auto found = kTable.find({domain, name});
  return found == kTable.end() ? nullptr : found->second;
}

}  // namespace dlcost
