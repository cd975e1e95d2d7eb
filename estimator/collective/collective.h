#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/core/units.h"
#include "estimator/system/system.h"

namespace dlcost {

// What devices do together.
enum class CollectiveOp { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast, kSend };
inline constexpr CollectiveOp kCollectiveOps[] = {
    CollectiveOp::kAllReduce, CollectiveOp::kAllGather, CollectiveOp::kReduceScatter,
    CollectiveOp::kAllToAll,  CollectiveOp::kBroadcast, CollectiveOp::kSend};
std::string_view Name(CollectiveOp op);  // "all_reduce", ...
// Throws Error with the nearest spelling.
CollectiveOp ParseCollectiveOp(const std::string& name);

// Which devices: `size` of them, each `stride` behind the one before. Devices are numbered so that
// those of a node are in a row: tensor parallelism has stride 1, data parallelism beside it the
// stride of its size. Groups of the same form fill the system and work at the same time.
struct DeviceGroup {
  int size = 2;
  int stride = 1;
};

// A collective and its buffer. `bytes` is the whole: what every device holds after an all-gather,
// before a reduce-scatter, and what it sends in an all-to-all, its own part included (as nccl-tests
// counts).
struct CollectiveCall {
  CollectiveOp op = CollectiveOp::kAllReduce;
  Bytes bytes;
  DeviceGroup group;
};

// One way to run a collective.
struct CollectiveRun {
  std::string algorithm;  // "ring", "tree", ...
  LinkProtocol protocol = LinkProtocol::kSimple;
  Seconds latency;   // start and hops
  Seconds transfer;  // bytes over the link that limits
  std::string link;  // that limits
  bool network = false;
  int channels = 0;  // processors of each device that it holds; 0: not known

  Seconds time() const { return latency + transfer; }
};

// Which way to run; empty fields leave the choice to the library.
struct ForcedCollective {
  std::string algorithm;
  std::optional<LinkProtocol> protocol;
};

// Every way that the system has, in the order of the algorithms. Throws Error for a group that the
// system does not join.
std::vector<CollectiveRun> CollectiveRuns(const System& system, const CollectiveCall& call);
// The fastest, which is what NCCL and RCCL choose by their own tables. Nothing moves in a group of
// one: zero. Throws Error where `forced` leaves no way.
CollectiveRun BestCollective(const System& system, const CollectiveCall& call,
                             const ForcedCollective& forced = {});

// What a device sends in a ring, exactly where N divides it (else rounded up): 2 (N - 1) / N of the
// buffer for an all-reduce, (N - 1) / N for the others; the buffer for broadcast and send.
Bytes RingBytes(const CollectiveCall& call);
// Bus bandwidth over algorithm bandwidth (bytes over time), as nccl-tests defines it: what a link
// carries in a ring.
double BusFactor(const CollectiveCall& call);

// "ring", "tree", ... for messages and --algorithm.
const std::vector<std::string>& CollectiveAlgorithms();

}  // namespace dlcost
