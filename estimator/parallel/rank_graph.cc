#include "estimator/parallel/rank_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "estimator/core/error.h"
#include "estimator/infer/edit.h"
#include "estimator/infer/parameters.h"

namespace dlcost {

RankGraph::RankGraph(const InferredModel& original, const RankPlan& told)
    : plan(told), model(EditableCopy(original)) {
  StoreGenerated(model.graph);
  std::unordered_map<std::string, Macs> of;
  for (const CountedNode& counted : original.nodes) {
    if (counted.graph == &original.model->graph) of[counted.name] = counted.cost.work.macs();
  }
  for (const Node& node : model.graph.nodes) macs.push_back(of[node.name]);
}

bool RankGraph::IsPartial(const NodeSharding& node) const {
  return std::any_of(node.summed.begin(), node.summed.end(),
                     [&](const Axis& axis) { return axes.Splits(axis, split); });
}

InferredModel InferWritten(RankGraph rank, const InferredModel& model,
                           const InferOptions& options) {
  InferredModel result = InferEdited(std::move(rank.model), model, options);
  if (rank.whole > Macs(0)) {
    rank.notes.push_back(fmt::format("{} MACs are computed by every device alike, the most by {}",
                                     rank.whole.count(), Printable(rank.largest_name)));
  }
  // A graph that is split once more says the same again.
  for (std::string& note : rank.notes) {
    const bool said =
        std::find(result.notes.begin(), result.notes.end(), note) != result.notes.end();
    if (!said) result.notes.push_back(std::move(note));
  }
  return result;
}

}  // namespace dlcost
