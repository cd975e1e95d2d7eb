#include "estimator/sweep/block_evaluator.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace dlcost {

BlockEvaluator::BlockEvaluator(const CountRegion& region, const std::vector<std::uint32_t>& counts)
    : axes_(region.axes), columns_(static_cast<Eigen::Index>(counts.size())) {
  // The counts first, then the pieces of those that bend.
  std::vector<std::uint32_t> polynomials = counts;
  std::map<std::uint32_t, Eigen::Index> column_of;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const CountRegion::Bend& bend = region.bends[counts[c]];
    if (bend.others.empty()) continue;
    BentColumn bent{.column = static_cast<Eigen::Index>(c), .smallest = bend.smallest};
    for (const std::uint32_t other : bend.others) {
      const auto [at, fresh] =
          column_of.emplace(other, static_cast<Eigen::Index>(polynomials.size()));
      if (fresh) polynomials.push_back(other);
      bent.others.push_back(at->second);
    }
    bent_.push_back(std::move(bent));
  }
  std::size_t products = 1;
  for (const RegionAxis& axis : axes_) products *= static_cast<std::size_t>(axis.degree) + 1;
  for (std::size_t i = 0; i < products; ++i) {
    const bool needed = std::any_of(polynomials.begin(), polynomials.end(),
                                    [&](std::uint32_t p) { return region.newton[p][i] != 0; });
    if (needed) used_.push_back(i);
  }
  coefficients_.resize(static_cast<Eigen::Index>(used_.size()),
                       static_cast<Eigen::Index>(polynomials.size()));
  largest_.resize(static_cast<Eigen::Index>(used_.size()));
  for (std::size_t u = 0; u < used_.size(); ++u) {
    double largest = 0;
    for (std::size_t p = 0; p < polynomials.size(); ++p) {
      const std::int64_t coefficient = region.newton[polynomials[p]][used_[u]];
      coefficients_(static_cast<Eigen::Index>(u), static_cast<Eigen::Index>(p)) = coefficient;
      largest = std::max(largest, std::abs(static_cast<double>(coefficient)));
    }
    largest_[static_cast<Eigen::Index>(u)] = largest;
  }
}

std::optional<BlockEvaluator::Values> BlockEvaluator::Straight(const PointBlock& points) const {
  const Eigen::Index rows = points.rows();
  // Binomials of each variable, then their products.
  std::vector<Matrix> binomials;
  for (std::size_t v = 0; v < axes_.size(); ++v) {
    Matrix& of_axis = binomials.emplace_back(rows, axes_[v].degree + 1);
    for (Eigen::Index row = 0; row < rows; ++row) {
      const std::int64_t t =
          (points(row, static_cast<Eigen::Index>(v)) - axes_[v].base) / axes_[v].period;
      std::int64_t binomial = 1;
      for (int k = 0; k <= axes_[v].degree; ++k) {
        of_axis(row, k) = binomial;
        if (__builtin_mul_overflow(binomial, t - k, &binomial)) return std::nullopt;
        binomial /= k + 1;
      }
    }
  }
  Matrix products(rows, static_cast<Eigen::Index>(used_.size()));
  Eigen::VectorXd sizes = Eigen::VectorXd::Zero(rows);  // at most so large does a value get
  for (std::size_t u = 0; u < used_.size(); ++u) {
    const auto column = static_cast<Eigen::Index>(u);
    products.col(column).setOnes();
    Eigen::ArrayXd real = Eigen::ArrayXd::Ones(rows);
    std::size_t index = used_[u];
    for (std::size_t v = axes_.size(); v-- > 0;) {
      const auto orders = static_cast<std::size_t>(axes_[v].degree) + 1;
      const auto k = static_cast<Eigen::Index>(index % orders);
      index /= orders;
      if (k == 0) continue;
      products.col(column).array() *= binomials[v].col(k).array();
      real *= binomials[v].col(k).array().cast<double>().abs();
    }
    sizes += largest_[column] * real.matrix();
  }
  constexpr double kFits = 4e18;
  if (rows > 0 && !(sizes.maxCoeff() < kFits)) return std::nullopt;
  return Values(products.lazyProduct(coefficients_).array());
}

std::optional<BlockEvaluator::Values> BlockEvaluator::At(const PointBlock& points) const {
  std::optional<Values> values = Straight(points);
  if (!values) return std::nullopt;
  for (const BentColumn& bent : bent_) {
    auto column = values->col(bent.column);
    for (const Eigen::Index other : bent.others) {
      if (bent.smallest) {
        column = column.min(values->col(other)).eval();
      } else {
        column = column.max(values->col(other)).eval();
      }
    }
  }
  values->conservativeResize(points.rows(), columns_);
  return values;
}

std::optional<BlockEvaluator::Values> BlockEvaluator::PieceAt(const PointBlock& points,
                                                              std::size_t piece) const {
  std::optional<Values> values = Straight(points);
  if (!values) return std::nullopt;
  for (const BentColumn& bent : bent_) {
    if (piece == 0) break;
    const std::size_t other = std::min(piece, bent.others.size()) - 1;
    values->col(bent.column) = values->col(bent.others[other]).eval();
  }
  values->conservativeResize(points.rows(), columns_);
  return values;
}

const BlockEvaluator::BentColumn* BlockEvaluator::FindBent(std::uint32_t column) const {
  for (const BentColumn& bent : bent_) {
    if (bent.column == static_cast<Eigen::Index>(column)) return &bent;
  }
  return nullptr;
}

std::size_t BlockEvaluator::Pieces(std::uint32_t column) const {
  const BentColumn* bent = FindBent(column);
  return bent == nullptr ? 1 : bent->others.size() + 1;
}

bool BlockEvaluator::IsSmallest(std::uint32_t column) const {
  const BentColumn* bent = FindBent(column);
  return bent == nullptr || bent->smallest;
}

}  // namespace dlcost
