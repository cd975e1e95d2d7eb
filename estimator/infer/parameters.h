#pragma once

#include <string>
#include <vector>

#include "estimator/graph/graph.h"

namespace dlcost {

// In a file that has no weights as initializers, those that Constant and ConstantOfShape nodes make
// become stored tensors, and the nodes go.
void StoreGenerated(Graph& graph);
// The same in any file.
void StoreConstants(Graph& graph);

// What operators read that no gradient is taken of: running statistics, scales of quantized numbers
// and of resizings. In order, none twice.
std::vector<TensorId> Untrained(const Graph& graph);

// Whether an input of an operator says how it works, and is no parameter wherever it is stored:
// region and scales of a resizing, thresholds.
bool IsSetting(const Node& node, std::size_t input);

// The stored floating-point numbers of a graph that training may change: weights with at least one
// axis, those that nodes make too. Single numbers that arithmetic reads are constants, running
// statistics are not trained. Without those that match a pattern of
// `frozen`; throws Error for a pattern that matches none.
std::vector<TensorId> TakeParameters(Graph& graph, const std::vector<std::string>& frozen);

}  // namespace dlcost
