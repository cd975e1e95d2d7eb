#pragma once

#include <set>
#include <string>
#include <vector>

#include "estimator/infer/infer.h"
#include "estimator/parallel/layout.h"

namespace dlcost {

// How devices that split a graph do it.
struct RankPlan {
  std::string option;  // as users give it, for errors: "tp=4"
  int devices = 1;
  int stride = 1;       // from one of them to the next
  bool trains = false;  // results stay split, and gradients that are parts are added up
  // Every device has all weights and adds up their gradients with the replicas': what is split is
  // what they are applied to.
  bool keeps_weights = false;
};

// A graph on its way to that of one of several devices: what is split of it. Whoever makes one says
// `axes`, `split` and, where the rest is divided along it, `sequence`.
struct RankGraph {
  RankGraph(const InferredModel& original, const RankPlan& told);

  // Whether a node leaves parts of sums.
  bool IsPartial(const NodeSharding& node) const;

  RankPlan plan;
  Model model;
  std::vector<Macs> macs;  // of every node
  GraphAxes axes;
  std::set<FactorId> split, sequence;
  std::set<TensorId> gathered;  // their gradients are added up by others: what gathered them
  std::vector<std::string> notes;
  // Of products that every device computes alike, and the largest of those.
  Macs whole, largest;
  std::string largest_name;
};

// Writes the graph of one of the devices: weights, shapes, heads and groups are its part, and what
// devices exchange are nodes of dlcost.parallel, which training differentiates like any other.
void WriteRank(RankGraph& rank);

// The written graph, inferred and counted under the options of the whole `model`.
InferredModel InferWritten(RankGraph rank, const InferredModel& model, const InferOptions& options);

}  // namespace dlcost
