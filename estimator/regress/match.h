#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace dlcost {

inline constexpr std::int32_t kNoMatch = -1;
inline std::size_t Index(std::int32_t node) { return static_cast<std::size_t>(node); }

// A node as matching sees it.
struct MatchNode {
  std::string_view name;     // of somebody who outlives this
  std::uint64_t op = 0;      // the operator
  std::uint64_t detail = 0;  // the operator, its attributes and the shapes of its weights
  std::uint64_t core = 0;    // the operator and the shape of its main weight alone
  // Producers of the inputs that other nodes make, by input position; kNoMatch for graph inputs,
  // weights and omitted inputs.
  std::span<const std::int32_t> producers;
  bool is_output = false;  // makes an output of the graph
};

// For every node of one graph the node of the other that plays its part, or kNoMatch.
struct Matching {
  std::vector<std::int32_t> before_to_after;
  std::vector<std::int32_t> after_to_before;
};

// Pairs the nodes of two graphs, each in an order in which producers come before consumers. Nodes
// are paired by what surrounds them first and by name second, so that a renamed graph matches
// itself and a changed node keeps its partner. Only nodes of equal `op` are paired. Linear in nodes
// and edges, but for sorting; deterministic.
Matching MatchNodes(const std::vector<MatchNode>& before, const std::vector<MatchNode>& after);

}  // namespace dlcost
