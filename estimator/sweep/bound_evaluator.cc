#include "estimator/sweep/bound_evaluator.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>

namespace dlcost {
namespace {

constexpr std::uint64_t kBoundSeed = 20240602;
constexpr double kTolerance = 1e-9;

std::vector<std::int64_t> RowOf(const BlockEvaluator::Values& values, Eigen::Index row) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(values.cols()));
  for (Eigen::Index c = 0; c < values.cols(); ++c) {
    numbers[static_cast<std::size_t>(c)] = values(row, c);
  }
  return numbers;
}

// Sizes to interpolate between, as many as its degree needs: from end to end of the range, for
// reals lose digits where they are carried far beyond.
std::vector<std::int64_t> NodesOf(const RegionAxis& axis, const RegionRange& range) {
  std::vector<std::int64_t> nodes;
  const std::int64_t steps = (range.to - range.from) / axis.period;
  const bool wide = steps >= axis.degree;
  for (int k = 0; k <= axis.degree; ++k) {
    const std::int64_t step = !wide ? k : axis.degree == 0 ? 0 : steps * k / axis.degree;
    nodes.push_back((wide ? range.from : axis.base) + axis.period * step);
  }
  return nodes;
}

PointBlock GridOf(const std::vector<std::vector<std::int64_t>>& nodes) {
  Eigen::Index rows = 1;
  for (const auto& of_axis : nodes) rows *= static_cast<Eigen::Index>(of_axis.size());
  PointBlock grid(rows, static_cast<Eigen::Index>(nodes.size()));
  for (Eigen::Index row = 0; row < rows; ++row) {
    auto index = static_cast<std::size_t>(row);
    for (std::size_t v = nodes.size(); v-- > 0;) {
      grid(row, static_cast<Eigen::Index>(v)) = nodes[v][index % nodes[v].size()];
      index /= nodes[v].size();
    }
  }
  return grid;
}

// Where caches hold all that they could or not, and where nothing is left to cross: bounds have a
// bend between one and the other.
std::vector<bool> SideOfBends(const Bound& bound) {
  std::vector<bool> side = {bound.overflows};
  for (const RoofTime& roof : bound.roofs) side.push_back(roof.time.value() > 0);
  return side;
}

// Anywhere in the region, its corners among them.
PointBlock OthersIn(const CountRegion& region) {
  constexpr Eigen::Index kRandom = 16;
  const auto variables = static_cast<Eigen::Index>(region.axes.size());
  const Eigen::Index corners = Eigen::Index(1) << std::min<Eigen::Index>(variables, 6);
  PointBlock others(kRandom + corners, variables);
  std::mt19937_64 random(kBoundSeed);
  for (Eigen::Index row = 0; row < others.rows(); ++row) {
    for (Eigen::Index v = 0; v < variables; ++v) {
      const RegionRange& range = region.ranges[0][static_cast<std::size_t>(v)];
      const std::int64_t period = region.axes[static_cast<std::size_t>(v)].period;
      const auto steps = static_cast<std::uint64_t>((range.to - range.from) / period);
      const bool top = (row >> std::min<Eigen::Index>(v, 62) & 1) != 0;
      const std::uint64_t step = row < corners ? (top ? steps : 0) : random() % (steps + 1);
      others(row, v) = range.from + period * static_cast<std::int64_t>(step);
    }
  }
  return others;
}

}  // namespace

BoundEvaluator::BoundEvaluator(const CountRegion& region, const BlockEvaluator& evaluator,
                               const std::vector<CompiledKernel>& kernels, const KernelTimes& times)
    : kernels_(kernels) {
  for (std::size_t v = 0; v < region.axes.size(); ++v) {
    nodes_.push_back(NodesOf(region.axes[v], region.ranges[0][v]));
  }
  const PointBlock others = OthersIn(region);
  const std::optional<BlockEvaluator::Values> at_others = evaluator.At(others);
  roofs_.resize(GridOf(nodes_).rows(), 0);
  for (std::uint32_t k = 0; k < kernels.size(); ++k) {
    if (kernels[k].like.upper_bound) continue;  // may do less than was counted: no bound
    if (!at_others || !Fit(kernels[k], evaluator, times, others, *at_others)) direct_.push_back(k);
  }
}

Eigen::ArrayXd BoundEvaluator::Roofs::Longest(const Eigen::MatrixXd& roofs) const {
  Eigen::ArrayXd longest = Eigen::ArrayXd::Zero(roofs.rows());
  for (Eigen::Index r = 0; r < count; ++r) {
    if (pieces == 1) {
      longest = longest.max(roofs.col(first + r).array());
      continue;
    }
    Eigen::ArrayXd roof = roofs.col(first + r).array();
    for (std::size_t piece = 1; piece < pieces; ++piece) {
      const auto other = roofs.col(first + r + static_cast<Eigen::Index>(piece) * count).array();
      roof = smallest ? roof.min(other).eval() : roof.max(other).eval();
    }
    longest = longest.max(roof);
  }
  return longest;
}

std::optional<Eigen::MatrixXd> BoundEvaluator::FitPiece(
    const CompiledKernel& kernel, const KernelTimes& times,
    const BlockEvaluator::Values& on_grid) const {
  Eigen::MatrixXd values;  // grid point x roof
  std::vector<std::string> names;
  for (Eigen::Index row = 0; row < on_grid.rows(); ++row) {
    const Bound bound = times.BoundOf(kernel.At(RowOf(on_grid, row)));
    if (row == 0) {
      for (const RoofTime& roof : bound.roofs) names.push_back(roof.roof);
      values.resize(on_grid.rows(), static_cast<Eigen::Index>(names.size()));
    }
    if (bound.roofs.size() != names.size()) return std::nullopt;
    for (std::size_t r = 0; r < names.size(); ++r) {
      if (bound.roofs[r].roof != names[r]) return std::nullopt;
      values(row, static_cast<Eigen::Index>(r)) = bound.roofs[r].time.value();
    }
  }
  return values;
}

bool BoundEvaluator::Fit(const CompiledKernel& kernel, const BlockEvaluator& evaluator,
                         const KernelTimes& times, const PointBlock& others,
                         const BlockEvaluator::Values& at_others) {
  Roofs roofs{.times = static_cast<double>(kernel.times)};
  for (const std::uint32_t column : kernel.columns) {
    roofs.pieces = std::max(roofs.pieces, evaluator.Pieces(column));
    if (evaluator.Pieces(column) > 1) roofs.smallest = evaluator.IsSmallest(column);
  }
  Eigen::MatrixXd coefficients(roofs_.rows(), 0);
  const PointBlock grid = GridOf(nodes_);
  for (std::size_t piece = 0; piece < roofs.pieces; ++piece) {
    const std::optional<BlockEvaluator::Values> on_grid = evaluator.PieceAt(grid, piece);
    if (!on_grid) return false;
    const std::optional<Eigen::MatrixXd> fitted = FitPiece(kernel, times, *on_grid);
    if (!fitted || (piece > 0 && fitted->cols() != roofs.count)) return false;
    roofs.count = fitted->cols();
    coefficients.conservativeResize(Eigen::NoChange, coefficients.cols() + fitted->cols());
    coefficients.rightCols(fitted->cols()) = *fitted;
  }
  const Eigen::ArrayXd says = roofs.Longest(ProductsAt(others) * coefficients);
  std::vector<bool> side;  // of the row before; sizes grow from the first corner to the last
  for (Eigen::Index row = 0; row < others.rows(); ++row) {
    const Bound bound = times.BoundOf(kernel.At(RowOf(at_others, row)));
    const double seconds = bound.time.value();
    if (std::abs(says[row] - seconds) > kTolerance * seconds) return false;
    std::vector<bool> its_side = SideOfBends(bound);
    if (row > 0 && its_side != side) return false;
    side = std::move(its_side);
  }
  if (roofs.count == 0) return true;
  roofs.first = roofs_.cols();
  roofs_.conservativeResize(Eigen::NoChange, roofs_.cols() + coefficients.cols());
  roofs_.rightCols(coefficients.cols()) = coefficients;
  fitted_.push_back(roofs);
  return true;
}

Eigen::MatrixXd BoundEvaluator::ProductsAt(const PointBlock& points) const {
  Eigen::Index count = 1;
  for (const auto& of_axis : nodes_) count *= static_cast<Eigen::Index>(of_axis.size());
  Eigen::MatrixXd products = Eigen::MatrixXd::Ones(points.rows(), count);
  Eigen::Index stride = 1;
  for (std::size_t v = nodes_.size(); v-- > 0;) {
    const std::vector<std::int64_t>& nodes = nodes_[v];
    const Eigen::ArrayXd x = points.col(static_cast<Eigen::Index>(v)).cast<double>();
    const auto size = static_cast<Eigen::Index>(nodes.size());
    for (Eigen::Index k = 0; k < size; ++k) {
      // 1 at node k, 0 at all others.
      Eigen::ArrayXd lagrange = Eigen::ArrayXd::Ones(points.rows());
      const std::int64_t at = nodes[static_cast<std::size_t>(k)];
      for (const std::int64_t other : nodes) {
        if (other == at) continue;
        lagrange *= (x - static_cast<double>(other)) / static_cast<double>(at - other);
      }
      if (size == 1) continue;
      for (Eigen::Index i = 0; i < count; ++i) {
        if (i / stride % size == k) products.col(i).array() *= lagrange;
      }
    }
    stride *= size;
  }
  return products;
}

void BoundEvaluator::At(const PointBlock& points, const BlockEvaluator::Values* values,
                        KernelTimes& times, Eigen::ArrayXd& bound) const {
  bound = Eigen::ArrayXd::Zero(points.rows());
  const Eigen::MatrixXd roofs = ProductsAt(points) * roofs_;
  for (const Roofs& kernel : fitted_) bound += kernel.times * kernel.Longest(roofs);
  std::vector<std::int64_t> sizes;
  for (const std::uint32_t k : direct_) {
    times.ForgetWhenFull();
    for (Eigen::Index row = 0; row < points.rows(); ++row) {
      sizes.clear();
      for (const std::uint32_t column : kernels_[k].columns) {
        sizes.push_back((*values)(row, static_cast<Eigen::Index>(column)));
      }
      bound[row] +=
          static_cast<double>(kernels_[k].times) * times.Of(k, kernels_[k].like, sizes).bound;
    }
  }
}

}  // namespace dlcost
