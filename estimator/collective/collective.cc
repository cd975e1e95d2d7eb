#include "estimator/collective/collective.h"

#include <algorithm>

#include "estimator/collective/algorithms/algorithm.h"
#include "estimator/core/error.h"
#include "estimator/core/spelling.h"

namespace dlcost {
namespace {

constexpr CollectiveAlgorithm kAlgorithms[] = {RunRing,         RunTree,  RunSwitchReduce,
                                               RunHierarchical, RunTorus, RunPairwise};

}  // namespace

std::string_view Name(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kAllReduce:
      return "all_reduce";
    case CollectiveOp::kAllGather:
      return "all_gather";
    case CollectiveOp::kReduceScatter:
      return "reduce_scatter";
    case CollectiveOp::kAllToAll:
      return "all_to_all";
    case CollectiveOp::kBroadcast:
      return "broadcast";
    case CollectiveOp::kSend:
      return "send";
  }
  return "";
}

CollectiveOp ParseCollectiveOp(const std::string& name) {
  std::vector<std::string> names;
  for (const CollectiveOp op : kCollectiveOps) {
    if (Name(op) == name) return op;
    names.emplace_back(Name(op));
  }
  throw Error("collective '{}' is none of {}{}", Printable(name),
              fmt::format("{}", fmt::join(names, ", ")), DidYouMean(name, names));
}

const std::vector<std::string>& CollectiveAlgorithms() {
  static const std::vector<std::string> names = {"ring",         "tree",  "nvls",    "nvls_tree",
                                                 "hierarchical", "torus", "pairwise"};
  return names;
}

std::vector<CollectiveRun> CollectiveRuns(const System& system, const CollectiveCall& call) {
  const std::vector<GroupLevel> levels = LevelsOf(system, call.group);
  std::vector<CollectiveRun> runs;
  if (levels.empty()) return runs;
  int channels = 0;
  for (const GroupLevel& level : levels) {
    channels = std::max(channels, level.link->timing.channels.value_or(0));
  }
  for (const CollectiveAlgorithm algorithm : kAlgorithms) {
    for (CollectiveRun& run : algorithm(call, levels)) {
      run.channels = channels;
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

CollectiveRun BestCollective(const System& system, const CollectiveCall& call,
                             const ForcedCollective& forced) {
  std::vector<CollectiveRun> runs = CollectiveRuns(system, call);
  if (call.group.size == 1) return {.algorithm = "none"};
  std::erase_if(runs, [&](const CollectiveRun& run) {
    return (!forced.algorithm.empty() && run.algorithm != forced.algorithm) ||
           (forced.protocol && run.protocol != *forced.protocol);
  });
  const auto best = std::min_element(
      runs.begin(), runs.end(),
      [](const CollectiveRun& a, const CollectiveRun& b) { return a.time() < b.time(); });
  if (best == runs.end()) {
    throw Error("{} of {} devices on {} does not run by {}{}{}", Name(call.op), call.group.size,
                system.id, forced.algorithm,
                forced.algorithm.empty() || !forced.protocol ? "" : " ",
                forced.protocol ? Name(*forced.protocol) : "");
  }
  return *best;
}

Bytes RingBytes(const CollectiveCall& call) {
  const Count size = call.group.size;
  const Count bytes = call.bytes.count();
  switch (call.op) {
    case CollectiveOp::kAllReduce:
      return Bytes(CeilDiv(bytes * (size - 1) * 2, size));
    case CollectiveOp::kBroadcast:
    case CollectiveOp::kSend:
      return call.bytes;
    default:
      return Bytes(CeilDiv(bytes * (size - 1), size));
  }
}

double BusFactor(const CollectiveCall& call) {
  const double size = call.group.size;
  switch (call.op) {
    case CollectiveOp::kAllReduce:
      return 2 * (size - 1) / size;
    case CollectiveOp::kBroadcast:
    case CollectiveOp::kSend:
      return 1;
    default:
      return (size - 1) / size;
  }
}

}  // namespace dlcost
