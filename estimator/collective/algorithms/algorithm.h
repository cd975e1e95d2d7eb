#pragma once

#include <vector>

#include "estimator/collective/collective.h"
#include "estimator/collective/group_level.h"

namespace dlcost {

// One file per way of running a collective. Each returns its runs, one per protocol that all links
// on the way know; none where it does not apply.
using CollectiveAlgorithm = std::vector<CollectiveRun> (*)(const CollectiveCall& call,
                                                           const std::vector<GroupLevel>& levels);

// Every piece passes through all devices, one after the other.
std::vector<CollectiveRun> RunRing(const CollectiveCall& call,
                                   const std::vector<GroupLevel>& levels);
// A chain within the node, two binary trees between nodes, each for half of the bytes.
std::vector<CollectiveRun> RunTree(const CollectiveCall& call,
                                   const std::vector<GroupLevel>& levels);
// The switch adds up and multicasts (NVLink SHARP), alone or with trees between nodes.
std::vector<CollectiveRun> RunSwitchReduce(const CollectiveCall& call,
                                           const std::vector<GroupLevel>& levels);
// Reduce-scatter in the node, all-reduce of the parts between nodes, all-gather in the node.
std::vector<CollectiveRun> RunHierarchical(const CollectiveCall& call,
                                           const std::vector<GroupLevel>& levels);
// Rings along each axis of a torus, all links at once.
std::vector<CollectiveRun> RunTorus(const CollectiveCall& call,
                                    const std::vector<GroupLevel>& levels);
// Directly from device to device: all-to-all and send.
std::vector<CollectiveRun> RunPairwise(const CollectiveCall& call,
                                       const std::vector<GroupLevel>& levels);

// What the start of a protocol takes over these levels; none where a link does not know it.
std::optional<double> StartOf(LinkProtocol protocol, const std::vector<GroupLevel>& levels);
// The rate of data (byte/s) of a level for a stream that `members` devices feed together.
double DataRate(const GroupLevel& level, LinkProtocol protocol, double members);
// The nearest level between nodes, of a group that reaches over one.
const GroupLevel& FirstNetwork(const std::vector<GroupLevel>& levels);
// Seconds of a step over a level.
double HopOf(const GroupLevel& level, LinkProtocol protocol);
// What a node sends to others in two binary trees.
double TreeBytes(const CollectiveCall& call, double nodes);
// How often the buffer passes through the group: twice for an all-reduce.
int Passes(CollectiveOp op);

// A run whose transfer is the slowest of some streams, each over one level.
class SlowestStream {
 public:
  void Add(const GroupLevel& level, double seconds);
  CollectiveRun Run(const char* algorithm, LinkProtocol protocol, double latency) const;

 private:
  double seconds_ = 0;
  const SystemLink* link_ = nullptr;
};

}  // namespace dlcost
