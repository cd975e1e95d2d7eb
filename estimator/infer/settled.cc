#include "estimator/infer/settled.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "estimator/infer/driver.h"

namespace dlcost {

void InferenceDriver::Note(Settled settled) {
  std::vector<Settled>& all = result_.settled;
  if (std::find(all.begin(), all.end(), settled) == all.end()) all.push_back(std::move(settled));
}

void InferenceDriver::Note(OpenBranch branch) {
  // Followed again, as a loop's body is: the last time counts.
  std::vector<OpenBranch>& all = result_.open_branches;
  std::erase_if(all, [&](const OpenBranch& known) { return known.node == branch.node; });
  all.push_back(std::move(branch));
}

void FinishSettled(InferredModel& model) {
  if (model.open_branches.empty() && model.settled.empty()) return;
  std::unordered_map<std::string_view, const CountedNode*> nodes;
  for (const CountedNode& node : model.nodes) nodes.emplace(node.name, &node);
  std::erase_if(model.open_branches,
                [&](const OpenBranch& branch) { return nodes.count(branch.node) == 0; });
  std::erase_if(model.settled, [&](const Settled& settled) {
    const bool of_node = settled.option == "--trips" || settled.option == "--branch";
    return of_node && nodes.count(settled.subject) == 0;
  });
  for (OpenBranch& branch : model.open_branches) {
    const Count repeat = nodes.at(branch.node)->repeat;
    if (branch.repeat == Count(0) || repeat == branch.repeat) continue;
    // Runs that differ (a state that grows) are told by the one that was followed last. Costs are
    // of so many equal runs: dividing first leaves no rest and cannot overflow.
    const auto all_runs = [&](OpenBranch::Cost& cost) {
      cost.macs = Macs(cost.macs.count() / branch.repeat * repeat);
      cost.flops = Flops(cost.flops.count() / branch.repeat * repeat);
      cost.bytes = Bytes(cost.bytes.count() / branch.repeat * repeat);
    };
    all_runs(branch.counted);
    if (branch.other) all_runs(*branch.other);
    branch.repeat = repeat;
  }
}

}  // namespace dlcost
