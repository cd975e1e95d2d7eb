#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/collective/collective.h"

namespace dlcost {

inline constexpr std::string_view kCollectiveSchema = "dlcost.collective/1";

// One collective on several numbers of devices and of several buffers.
struct CollectiveRequest {
  CollectiveOp op = CollectiveOp::kAllReduce;
  const System* system = nullptr;     // either this
  std::optional<ByteRate> bandwidth;  // or a bare link: the arithmetic of a ring alone
  std::string bandwidth_text;         // as people read it
  std::vector<std::int64_t> devices;  // none: a node's, or 2
  std::int64_t stride = 1;
  std::vector<Bytes> sizes;
  std::string algorithm, protocol;  // "" the fastest
};

struct CollectiveRow {
  CollectiveCall call;
  CollectiveRun run;

  double AlgorithmBandwidth() const { return call.bytes.AsDouble() / run.time().value(); }
};

struct CollectiveTable {
  std::string where;                // id of the system, or "links of 100GB/s"
  bool bare = false;                // links without a system: nothing chooses a protocol
  std::vector<CollectiveRow> rows;  // by devices, then by buffer
};

// Throws Error for what no system does.
CollectiveTable RunCollectives(const CollectiveRequest& request);

std::string CollectiveText(const CollectiveTable& table, std::size_t max_width = 0);
std::string CollectiveJson(const CollectiveTable& table);

}  // namespace dlcost
