#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/sweep/curves.h"

namespace dlcost {

// Where throughput falls along a curve although the size grows, and the kernels that make it fall.
struct SweepFall {
  const SweepPoint *from = nullptr, *to = nullptr;  // neighbours
  double share = 0;                                 // of the throughput at `from`, lost
  // The operator whose kernels' time per item grows most; empty where it was not looked for.
  std::string op;
  std::string node;  // names the kernel of these that grows most
  struct Run {       // that kernel
    std::string algorithm;
    Seconds time;
    std::optional<std::int64_t> tiles, waves;  // over all units; none where nothing is tiled
  };
  Run before, after;
  std::int64_t units = 0;
  // Rounds over the units grow faster than the items: at least half of what the kernel's time does.
  bool by_waves = false;
};

// Where runs have more items along the curve: falls by more than 3 % from one point to the next of
// a curve, deepest first. The first `explained` of them are looked into, by a report of both
// points.
std::vector<SweepFall> FallsOf(const Sweep& sweep, const SweepCurve& curve, std::size_t explained);

}  // namespace dlcost
