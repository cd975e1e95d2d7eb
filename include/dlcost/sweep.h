#pragma once

#include <string>
#include <vector>

#include "dlcost/report.h"

namespace dlcost::api {

// One size that a sweep goes through.
struct Axis {
  std::string name;  // a dimension; "batch" with `batch`
  std::vector<std::int64_t> sizes;
  bool batch = false;  // what Bindings::batch sets
};

// Every combination of sizes, types and devices.
struct SweepRequest {
  std::vector<Axis> axes;
  std::vector<Device> devices;      // none: counts alone
  std::vector<std::string> dtypes;  // none: as the file says
  Bindings bindings;                // what all points have in common
  Options options;
  bool bounds_only = false;  // no expected times: a hundred times faster
};

struct SweepPoint {
  std::vector<std::int64_t> sizes;  // one per axis
  std::string device, dtype;        // "": none, as the file says
  std::string why_not;              // the model takes no such sizes: nothing else is known
  std::int64_t macs = 0, flops = 0, bytes = 0, needed_bytes = 0;
  std::optional<double> bound_s, expected_s, items_per_s, tokens_per_s;
  std::optional<bool> fits;
  std::string limited_by;
};

class Sweep {
 public:
  // In order: the last axis runs fastest, then types, then devices.
  std::vector<SweepPoint> points() const;
  std::string Text() const;
  std::string Json() const;  // schema dlcost.sweep/1
  std::string Csv() const;
  std::string Html() const;  // curves over one size, a heat map over two

  struct State;
  explicit Sweep(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

// Uses several threads. Throws Error where the model does not take the first point.
Sweep RunSweep(const Model& model, const SweepRequest& request);

}  // namespace dlcost::api
