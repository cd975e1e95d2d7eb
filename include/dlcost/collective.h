#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dlcost/system.h"

namespace dlcost::api {

// An exchange of data among devices (docs/job.md), for every number of devices and every buffer.
struct CollectiveRequest {
  // all_reduce, all_gather, reduce_scatter, all_to_all, broadcast or send
  std::string op = "all_reduce";
  std::optional<System> system;                   // either this
  std::optional<double> bandwidth_bytes_per_s;    // or a bare link: a ring's arithmetic alone
  std::vector<std::int64_t> devices;              // none: a node's
  std::int64_t stride = 1;                        // from one device of the group to the next
  std::vector<std::int64_t> bytes = {100000000};  // of the buffer
  std::string algorithm, protocol;                // "": the fastest
};

struct CollectiveRun {
  int devices = 2;
  std::int64_t bytes = 0;
  std::int64_t ring_bytes = 0;  // what a device sends in a ring
  double time_s = 0, latency_s = 0, transfer_s = 0;
  double algorithm_bandwidth_bytes_per_s = 0;  // buffer over time
  double bus_bandwidth_bytes_per_s = 0;        // as nccl-tests defines it
  std::string algorithm, protocol;
  std::string link;  // that limits
};

class Collectives {
 public:
  std::vector<CollectiveRun> runs() const;  // by devices, then by buffer
  std::string Text() const;
  std::string Json() const;  // schema dlcost.collective/1

  struct State;
  explicit Collectives(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

// Throws Error without a system or a bandwidth, for sizes below 1, and for more devices than there
// are.
Collectives RunCollectives(const CollectiveRequest& request);

}  // namespace dlcost::api
