#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "estimator/infer/sizes.h"
#include "estimator/request/count_options.h"
#include "estimator/sweep/sweep.h"
#include "estimator/sweep/sweep_render.h"

namespace dlcost {

// A model over lists of sizes, ways of running it, and devices.
struct SweepRequest {
  struct Axis {
    std::string name;  // a dimension; "": what --batch sets
    SizeList sizes;
  };
  ModelOptions model;    // what all points have in common
  DeviceOptions device;  // how kernels run; which devices is said below
  CountOptions count;
  std::vector<Axis> axes;
  // Every combination of these; none: as `count` and `model` have it.
  std::vector<std::string> runtimes, trains, precisions, dtypes;
  std::vector<Device> devices;  // none: counts alone
  bool bounds_only = false;     // no expected times

  // Sizes that the observed ones of one axis are padded up to.
  std::vector<std::int64_t> buckets;
  // What the best points have to meet, "latency<=10ms", and what they are best by: price, latency,
  // throughput or energy.
  std::vector<std::string> conditions;
  std::string rank;
  std::map<std::string, double> price;  // per hour, by a device's name; "" for every other
};

// The devices of `device`, once for each value where its overrides name several
// ("memory.bandwidth=1TB/s,2TB/s"), which their ids tell, then.
std::vector<Device> FindDevicesOverValues(const DeviceOptions& device);
// Of these, those that every one of the runtimes of the request serves. Throws Error where none is
// left.
ServedDevices ServedByAll(const SweepRequest& request, std::vector<Device> devices);

// How many points there are, without making them; as many as fit a number where they are more.
std::int64_t PointsOf(const SweepRequest& request);
// What is shown of the points beside themselves. Throws Error for a condition or a rank that there
// is not, and where they need a device or a price.
SweepRenderOptions SelectionOf(const SweepRequest& request);
// `model` is pointed to. Throws Error for a size that is given twice, and for a way of running that
// there is not.
Sweep SweepOf(const SweepRequest& request, const Model& model);

}  // namespace dlcost
