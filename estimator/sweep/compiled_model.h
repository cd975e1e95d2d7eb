#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "estimator/roofline/call_queue.h"
#include "estimator/sweep/block_evaluator.h"
#include "estimator/sweep/bound_evaluator.h"
#include "estimator/sweep/kernel_times.h"
#include "estimator/sweep/sweep.h"
#include "estimator/sweep/sweep_model.h"

namespace dlcost {

// A sweep's model where its kernels do not change but in their sizes: these as polynomials, the
// different kernels once.
class CompiledModel {
 public:
  // Around the given sizes, up to the largest sizes of the sweep. Throws Error where the model has
  // no such region.
  CompiledModel(const Sweep& sweep, const SweepModel& model, std::size_t setup, const Point& base);

  bool Contains(const Point& sizes) const;
  // Points that it contains, for all devices: out[i] are those of points[i], devices in order.
  // `times` has one entry for each device. False where numbers get too large.
  bool Evaluate(std::span<const Point> points, std::deque<KernelTimes>& times,
                std::vector<std::vector<SweepPoint>>& out) const;
  // Counts and bounds alone, for a block of points that it contains: sizes as rows. False where
  // numbers get too large.
  struct Block {
    using Integers = Eigen::Array<std::int64_t, Eigen::Dynamic, 1>;
    Integers items, tokens, macs, flops, bytes, needed;
    std::vector<Eigen::ArrayXd> bound;  // seconds, per device
  };
  bool EvaluateBlock(const PointBlock& points, std::deque<KernelTimes>& times, Block& out) const;
  std::size_t kernels() const { return kernels_.size(); }  // different ones
  const RunOptions& run() const { return run_; }           // how they run

 private:
  void Time(std::span<const std::int64_t> values, const Device& device, KernelTimes& times,
            SweepPoint& point) const;

  const Sweep& sweep_;
  std::size_t setup_;
  RunOptions run_;
  CountRegion region_;
  std::optional<BlockEvaluator> evaluator_;  // of everything
  std::optional<BlockEvaluator> totals_;     // of what is no kernel's: the first columns
  std::vector<BoundEvaluator> bounds_;       // per device
  std::vector<CompiledKernel> kernels_;
  std::vector<std::uint32_t> order_;  // of execution, into kernels_
  // Columns of the evaluator.
  std::uint32_t items_ = 0, tokens_ = 0, weights_ = 0, macs_ = 0, flops_ = 0, bytes_ = 0;
  std::vector<std::uint32_t> live_;
  bool has_tokens_ = false, exact_ = true;
};

}  // namespace dlcost
