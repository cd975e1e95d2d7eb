#pragma once

#include <string>
#include <vector>

#include "dlcost/report.h"

namespace dlcost::api {

// One size that a sweep goes through: `sizes`, or a `list` in words.
struct Axis {
  std::string name;  // a dimension; "batch" with `batch`
  std::vector<std::int64_t> sizes;
  bool batch = false;  // what Bindings::batch sets
  // How often each of `sizes` was observed: they are a distribution, then. Empty: they are a list.
  std::vector<double> weights;
  // As the command line takes it: "1,8,32", "1:1024:x2", "@lengths.csv" (observed sizes); "": none.
  std::string list;
};

// Every combination of sizes, ways of running the model, and devices.
struct SweepRequest {
  std::vector<Axis> axes;
  std::vector<Device> devices;      // none: counts alone
  std::vector<std::string> dtypes;  // none: as the options say; so the next three
  Bindings bindings;                // what all points have in common
  Options options;
  bool bounds_only = false;  // no expected times: a hundred times faster
  std::vector<std::string> runtimes, optimizers, precisions;
  // Leaves out devices that one of the runtimes has no kernels for.
  bool served_alone = false;
  // Sizes that those of the one observed axis are padded up to.
  std::vector<std::int64_t> buckets;
  // What the best points have to meet: "latency<=10ms", "throughput>=1000", "tokens>=1e6",
  // "memory<=16GB", "power<=300W", "energy<=50mJ" (of an item).
  std::vector<std::string> conditions;
  std::string rank;  // best by price, latency, throughput or energy; "": not ranked
  std::map<std::string, double> price_per_hour;  // by device; "": of every other one
};

struct SweepPoint {
  std::vector<std::int64_t> sizes;            // one per axis
  std::string device, dtype;                  // "": none, as the file says
  std::string runtime, precision, optimizer;  // "": none of this
  std::string why_not;  // the model takes no such sizes: nothing else is known
  // Bytes: of operands that kernels move; and weights and activations that memory has to hold.
  std::int64_t macs = 0, flops = 0, bytes = 0, needed_bytes = 0;
  std::optional<double> bound_s, expected_s, items_per_s, tokens_per_s;
  std::optional<double> joules_per_item;  // at the board's rated power: the most that it takes
  std::optional<double> price_per_million_items;  // with a price of the device
  std::optional<bool> fits;
  std::string limited_by;
};

class Sweep {
 public:
  // In order: the last axis runs fastest, then types, then devices.
  std::vector<SweepPoint> points() const;
  // Those that fit and meet all conditions, the best by `rank` first.
  std::vector<SweepPoint> best() const;
  // `rows`: of the table of points. `plot`: throughput over size, drawn in characters.
  std::string Text(std::size_t rows = 60, bool plot = false) const;
  std::string Json() const;  // schema dlcost.sweep/1
  std::string Csv() const;
  std::string Html() const;  // curves over one size, a heat map over two
  // A picture for slides: throughput over size. Throws Error without a device or a range of sizes.
  std::string Svg(bool dark = false, const std::string& title = "") const;

  struct State;
  explicit Sweep(std::shared_ptr<const State> state);

 private:
  std::shared_ptr<const State> state_;
};

// Uses several threads. Throws Error where the model takes no point.
Sweep RunSweep(const Model& model, const SweepRequest& request);

}  // namespace dlcost::api
