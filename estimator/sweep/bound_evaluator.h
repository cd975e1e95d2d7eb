#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "estimator/sweep/block_evaluator.h"
#include "estimator/sweep/kernel_times.h"
#include "estimator/sweep/region.h"

namespace dlcost {

// The bound of a compiled model on one device, at many points at once: every roof of every kernel
// is a time that is linear in its counts, so a polynomial in the sizes.
class BoundEvaluator {
 public:
  // Fits the roofs at a few points of the region and checks them at others, to 1e-9.
  BoundEvaluator(const CountRegion& region, const BlockEvaluator& evaluator,
                 const std::vector<CompiledKernel>& kernels, const KernelTimes& times);

  // Whether all kernels are: At needs no `values` then.
  bool IsComplete() const { return direct_.empty(); }
  // Seconds. `values`: what the evaluator says of the points; kernels that follow no polynomial are
  // run by them.
  void At(const PointBlock& points, const BlockEvaluator::Values* values, KernelTimes& times,
          Eigen::ArrayXd& bound) const;

 private:
  struct Roofs {
    Eigen::Index first = 0, count = 0;  // columns of roofs_, of the first piece
    // Of traffic that bends: as many columns again for each further piece, of which the shortest
    // (or longest) time of a roof counts.
    std::size_t pieces = 1;
    bool smallest = true;
    double times = 1;

    // Seconds of the longest roof at points whose roofs these are.
    Eigen::ArrayXd Longest(const Eigen::MatrixXd& roofs) const;
  };

  // Lagrange's basis: what a point takes of each node.
  Eigen::MatrixXd ProductsAt(const PointBlock& points) const;
  bool Fit(const CompiledKernel& kernel, const BlockEvaluator& evaluator, const KernelTimes& times,
           const PointBlock& others, const BlockEvaluator::Values& at_others);
  // Times of the roofs on the grid; nullopt where the roofs are not the same everywhere.
  std::optional<Eigen::MatrixXd> FitPiece(const CompiledKernel& kernel, const KernelTimes& times,
                                          const BlockEvaluator::Values& on_grid) const;

  std::vector<std::vector<std::int64_t>> nodes_;  // per variable: sizes to interpolate between
  const std::vector<CompiledKernel>& kernels_;
  Eigen::MatrixXd roofs_;  // node of the grid x roof
  std::vector<Roofs> fitted_;
  std::vector<std::uint32_t> direct_;  // kernels that are run
};

}  // namespace dlcost
