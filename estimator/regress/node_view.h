#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "estimator/regress/match.h"
#include "estimator/regress/metrics.h"
#include "estimator/report/report.h"

namespace dlcost {

// A report's nodes as a graph: what runs, without shape arithmetic and the making of weights.
struct GraphView {
  explicit GraphView(const Report& report);
  GraphView(GraphView&&) = default;  // nodes refer to what moves along
  GraphView& operator=(GraphView&&) = delete;

  const NodeRow& Row(std::int32_t node) const { return *rows[static_cast<std::size_t>(node)]; }
  // The nodes that read what the node makes, each once, in order of execution.
  std::span<const std::int32_t> Consumers(std::size_t node) const {
    return {all_consumers.data() + first_consumer[node],
            all_consumers.data() + first_consumer[node + 1]};
  }
  const Cost& CostOf(std::int32_t node) const { return costs[static_cast<std::size_t>(node)]; }

  std::vector<MatchNode> nodes;
  std::vector<const NodeRow*> rows;    // of the report; same index as `nodes`
  std::vector<Cost> costs;             // see NodeCosts; same index as `nodes`
  std::vector<const Operand*> inputs;  // of the model, in order of first use
  // Of all nodes one after the other: a large graph has no vectors of its own per node.
  std::vector<std::int32_t> all_producers, all_consumers;
  std::vector<std::size_t> first_consumer;  // of each node in all_consumers, and the end

 private:
  void CollectConsumers();
};

using AttributeTexts = std::vector<std::pair<std::string, std::string>>;

// The attributes of a node that say something: without those that repeat the default or that only
// trained, and without those that later operator sets made inputs (axes, min, max, ...).
AttributeTexts SignificantAttributes(const NodeRow& row);

// "Conv 3x3, 64 -> 128 channels", "Gemm 2048 -> 1000", "Relu".
std::string Describe(const NodeRow& row);

// The floating-point or quantized weight at the node's second input, or null.
const Operand* MainWeight(const NodeRow& row);

// A weight that computes, against indices, axes and shapes.
bool IsWeight(const Operand& operand);

// "1x3x224x224"; "scalar"; "?" when unknown.
std::string ShapeText(const std::optional<Shape>& shape);

// Channels or features that go in and come out of a convolution or matrix product with a weight.
struct Features {
  std::int64_t in = 0, out = 0;
};
std::optional<Features> FeaturesOf(const NodeRow& row);

}  // namespace dlcost
