#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "estimator/sweep/region.h"

namespace dlcost {

// Sizes of points: a row for each point, a column for each variable.
using PointBlock = Eigen::Array<std::int64_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;

// Some of a region's counts at many points at once, exact.
class BlockEvaluator {
 public:
  // A row for each point, a column for each count.
  using Values = Eigen::Array<std::int64_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;

  // `counts` are indices of polynomials of the region.
  BlockEvaluator(const CountRegion& region, const std::vector<std::uint32_t>& counts);

  // Points of the region's residue class. nullopt where a value may not fit into 64 bits.
  std::optional<Values> At(const PointBlock& points) const;
  // The same, where of each count that bends only one piece is looked at: 0 is the first.
  std::optional<Values> PieceAt(const PointBlock& points, std::size_t piece) const;

  // How many polynomials a column is the smallest or the largest of; 1 where it does not bend.
  std::size_t Pieces(std::uint32_t column) const;
  bool IsSmallest(std::uint32_t column) const;

 private:
  using Matrix = Eigen::Matrix<std::int64_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;

  struct BentColumn {
    Eigen::Index column = 0;
    std::vector<Eigen::Index> others;
    bool smallest = true;
  };

  // All polynomials, pieces after the counts.
  std::optional<Values> Straight(const PointBlock& points) const;
  const BentColumn* FindBent(std::uint32_t column) const;

  std::vector<RegionAxis> axes_;
  std::vector<std::size_t> used_;  // products of binomials that some count needs
  Matrix coefficients_;            // product x polynomial
  Eigen::VectorXd largest_;        // sizes of the coefficients of each product, over all counts
  Eigen::Index columns_ = 0;
  std::vector<BentColumn> bent_;
};

}  // namespace dlcost
