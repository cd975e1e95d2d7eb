#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "estimator/hardware/device.h"
#include "estimator/infer/infer.h"
#include "estimator/report/report.h"
#include "estimator/sweep/region.h"

namespace dlcost {

// One size that a sweep goes through.
struct SweepAxis {
  std::string name;  // "batch", or a dimension's
  std::vector<std::int64_t> sizes;
  std::vector<double> weights;  // of a distribution; empty: a list
  // Ends of the buckets that observed sizes are padded to, ascending, all among `sizes` (those that
  // nobody observed have no weight) and the last one no less than any.
  std::vector<std::int64_t> buckets;
  bool batch = false;  // what --batch sets

  bool IsDistribution() const { return !weights.empty(); }
};

// One way of running the model: what --dtype, --precision, --train and --runtime may list.
struct SweepSetup {
  std::string dtype;             // as --dtype takes it; "": as the file says
  std::string precision, train;  // as these options take them; for names alone
  // What is counted of a model at a point instead: a training step. Null: the model.
  std::function<InferredModel(InferredModel, const InferOptions&)> derive;
  ReportOptions report;  // with the runtime
};

// What a sweep asks: every combination of sizes, setups and devices.
struct Sweep {
  const Model* model = nullptr;
  InferOptions infer;  // with what is bound for all points
  std::vector<SweepAxis> axes;
  std::vector<SweepSetup> setups = {{}};
  std::vector<Device> devices;  // none: counts alone
  bool bounds_only = false;     // no expected times

  // Combinations of sizes alone; all points are these times setups times devices (or 1).
  std::int64_t Combinations() const;
  std::int64_t Points() const;
  // Sizes of a combination, one per axis; the last axis runs fastest.
  Point SizesOf(std::int64_t combination) const;
};

// One point of a sweep: what a report at these sizes says in its totals.
struct SweepPoint {
  Point sizes;  // one per axis
  std::size_t setup = 0, device = 0;
  std::string why_not;  // the model takes no such sizes: nothing else is known

  std::int64_t items = 1;              // of one run: its batch
  std::optional<std::int64_t> tokens;  // of one run, where an input is a table of integers
  Count macs, flops, bytes, needed;    // needed: weights and activations, bytes
  std::optional<Seconds> bound, expected, expected_low, expected_high;
  // Expected times were not asked for: the bound stands for the time. Else a run whose kernels have
  // no public rate has none, and its bound leaves them out.
  bool by_bound = false;
  std::optional<double> watts;  // expected, on the high side (power.h)
  std::string limiter;          // what most of the expected time waits for
  std::optional<bool> fits;
  bool exact = true;  // nothing in the counts is an upper bound, assumed or unknown

  // The expected time; the bound where no expected times were asked for.
  std::optional<Seconds> latency() const { return by_bound ? bound : expected; }
  std::optional<double> items_per_second() const;
  std::optional<double> tokens_per_second() const;
  std::optional<double> joules_per_item() const;
  std::optional<double> intensity() const;  // FLOP/byte
};

// Evaluates all points and hands them over in order: sizes, setups, devices. Threads share what
// does not change. Throws Error where the model takes no point; else those that it does not take
// say why_not.
void RunSweep(const Sweep& sweep, const std::function<void(const SweepPoint&)>& take);

}  // namespace dlcost
