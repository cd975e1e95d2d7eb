#include "estimator/roofline/blocked_time.h"

#include <algorithm>
#include <cmath>

namespace dlcost {
namespace {

// Elements that a core takes at a time where a loop is shared out (PyTorch,
// at::internal::GRAIN_SIZE).
constexpr double kGrain = 32768;

bool OfProducts(TermKind kind) {
  return kind == TermKind::kProducts || kind == TermKind::kPadding || kind == TermKind::kSkipped;
}

double Instructions32(const Instructions& i) {
  return (i.fma + i.add + i.mul).AsDouble() + kSpecialInstructions * i.special.AsDouble();
}

// How often the stage's grid is computed: its multiply-adds over those of one.
double GridRuns(const Stage& stage) {
  const TileGrid& grid = *stage.grid;
  double executed = 0;
  for (const Term& term : stage.terms) {
    if (OfProducts(term.kind)) executed += term.instructions.fma.AsDouble();
  }
  const double one = grid.batch.AsDouble() * grid.padded_m().AsDouble() *
                     grid.padded_n().AsDouble() * grid.padded_k().AsDouble();
  return one > 0 ? executed / one : 0;
}

double LaunchTime(const Cores& cores, double busy) {
  return cores.machine.kernel_time * (1 + std::log2(std::max(1.0, busy)));
}

class CoreTimer {
 public:
  CoreTimer(const MicroKernel& kernel, const Cores& cores, const CoreLoad& load)
      : kernel_(kernel), cores_(cores), load_(load) {}

  CoreTime Run(const Execution* execution, double memory_rate) {
    double operations = load_.operations, extra = 0, extra_memory = 0;
    const std::size_t count = execution == nullptr ? 0 : execution->stages.size();
    for (std::size_t i = 0; i < count; ++i) {
      const Stage& stage = execution->stages[i];
      for (const Term& term : stage.terms) {
        const bool apart = term.kind == TermKind::kTransform || term.kind == TermKind::kReduction;
        if (apart) operations += Instructions32(term.instructions);
      }
      double busy = cores_.count;
      if (stage.grid) {
        AddProduct(stage, count == 1);
        busy = time_.stages.back().place.busy.AsDouble();
      }
      time_.launch += stage.launches.AsDouble() * LaunchTime(cores_, busy);
      const double moved = (stage.extra_read + stage.extra_written).AsDouble();
      (moved <= KeptBetweenKernels(cores_) ? extra : extra_memory) += moved;
    }
    const double share = ShareOfOne(load_.elements);
    if (count == 0) time_.launch = LaunchTime(cores_, std::ceil(1 / share));
    const double lanes = cores_.lanes() * std::max(1.0, cores_.vector_per_clock);
    time_.vector = operations * share / lanes / cores_.clock;
    // One element in, one out: rows that all cores read, a scale, make a core's part no smaller.
    const double passing = extra + (count == 0 ? load_.read + load_.written : 0);
    const double part = passing * ShareOfOne(std::max(1.0, passing / load_.element_bytes / 2));
    // A core's part that its L2 holds was there before.
    const double rate = part <= cores_.l2 ? cores_.machine.l2_rate : cores_.machine.l3_rate;
    time_.streamed = part / rate / cores_.clock;
    // A line is read before it is written, whatever it held.
    const double bytes = load_.read + 2 * load_.written;
    const double gone = std::max(0.0, 1 - load_.kept / std::max(1.0, load_.read + load_.written));
    time_.memory_bytes = bytes * gone + extra_memory;
    time_.memory = time_.memory_bytes / (memory_rate * cores_.machine.memory_share);
    Add();
    return std::move(time_);
  }

 private:
  void AddProduct(const Stage& stage, bool alone) {
    const TileGrid& grid = *stage.grid;
    const GemmNest nest{.batch = grid.batch,
                        .m = grid.cut ? grid.m : grid.padded_m(),
                        .n = grid.cut ? grid.n : grid.padded_n(),
                        .k = grid.padded_k()};
    const Count dense = nest.batch * nest.m * nest.k;
    const bool image = alone && load_.first > Count(0) && load_.first < dense;
    StageTime time{.stage = &stage, .runs = GridRuns(stage)};
    time.place = PlaceBlocked(nest, image ? load_.first : dense, kernel_, cores_);
    time.units = time.runs * time.place.cycles / cores_.clock;
    time.l2 = time.runs * time.place.l2_bytes / cores_.machine.l2_rate / cores_.clock;
    time.l3 = time.runs * time.place.l3_bytes / cores_.machine.l3_rate / cores_.clock;
    time.seconds = std::max({time.units, time.l2, time.l3});
    time_.stages.push_back(time);
  }

  // Of all elements the core that has most: those of its blocks, behind a product whose blocks it
  // still holds; else its part, and no less than what a core takes at a time.
  double ShareOfOne(double elements) const {
    if (!time_.stages.empty()) {
      return 1 / std::max(1.0, time_.stages.back().place.busy.AsDouble());
    }
    return std::max(1.0 / cores_.count, std::min(1.0, kGrain / elements));
  }

  void Add() {
    double products = 0;
    for (const StageTime& stage : time_.stages) products += stage.seconds;
    // Read, written in another order, by as many cores as multiply.
    const double busy = time_.stages.empty() ? 1 : time_.stages.back().place.busy.AsDouble();
    time_.packing = 2 * load_.packed / busy / cores_.machine.l2_rate / cores_.clock;
    // What only streams passes under its arithmetic; a product's neighbours come after it.
    const double cores = time_.stages.empty() ? std::max(time_.vector, time_.streamed)
                                              : products + time_.vector + time_.streamed;
    time_.seconds = std::max(cores, time_.memory) + time_.packing + time_.launch;
  }

  const MicroKernel& kernel_;
  const Cores& cores_;
  const CoreLoad& load_;
  CoreTime time_;
};

}  // namespace

double KeptBetweenKernels(const Cores& cores) { return (cores.l2 * cores.count + cores.l3) / 2; }

CoreTime ExpectedOnCores(const Execution* execution, const MicroKernel& kernel, const Cores& cores,
                         double memory_rate, const CoreLoad& load) {
  return CoreTimer(kernel, cores, load).Run(execution, memory_rate);
}

}  // namespace dlcost
