#include "estimator/calibrate/fit.h"

#include <Eigen/Dense>
#include <cmath>

#include "estimator/core/error.h"

namespace dlcost {

Fit FitPowers(const std::vector<double>& x, const std::vector<double>& y,
              const std::vector<int>& powers) {
  const auto rows = static_cast<Eigen::Index>(x.size());
  const auto columns = static_cast<Eigen::Index>(powers.size());
  if (x.size() != y.size()) throw Error("a fit needs as many x as y");
  if (rows < columns) {
    throw Error("{} points cannot determine {} terms; add runs or ask for fewer terms", rows,
                columns);
  }
  Eigen::MatrixXd design(rows, columns);
  Eigen::VectorXd target(rows);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const double xi = x[static_cast<std::size_t>(i)];
    target(i) = y[static_cast<std::size_t>(i)];
    for (Eigen::Index j = 0; j < columns; ++j) {
      const int power = powers[static_cast<std::size_t>(j)];
      if (xi == 0 && power < 0) throw Error("x is 0 in a run, where 1/x has no value");
      design(i, j) = std::pow(xi, power);
    }
  }
  // Unit columns: the condition number is then that of the question, not of the units.
  const Eigen::VectorXd scale = design.colwise().norm().cwiseMax(1e-300);
  const Eigen::MatrixXd scaled = design * scale.cwiseInverse().asDiagonal();
  if (!scaled.allFinite() || !target.allFinite()) throw Error("the values are too large to fit");
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(scaled);
  if (qr.rank() < columns) {
    throw Error("the runs cannot tell {} terms apart: there are too few different x", columns);
  }
  const Eigen::VectorXd solution = qr.solve(target);
  const Eigen::VectorXd residual = target - scaled * solution;

  Fit fit;
  fit.points = x.size();
  const double squares = residual.squaredNorm();
  const double variance = (target.array() - target.mean()).matrix().squaredNorm();
  fit.r_squared = variance > 0 ? 1 - squares / variance : 1;
  for (Eigen::Index i = 0; i < rows; ++i) {
    if (target(i) != 0)
      fit.largest_residual = std::max(fit.largest_residual, std::abs(residual(i) / target(i)));
  }
  const Eigen::Index freedom = rows - columns;
  const Eigen::MatrixXd covariance = (scaled.transpose() * scaled).inverse();
  if (freedom > 0) fit.residual_deviation = std::sqrt(squares / static_cast<double>(freedom));
  for (Eigen::Index j = 0; j < columns; ++j) {
    FitTerm term{powers[static_cast<std::size_t>(j)], solution(j) / scale(j), std::nullopt};
    if (freedom > 0) {
      term.standard_error = fit.residual_deviation * std::sqrt(covariance(j, j)) / scale(j);
    }
    fit.terms.push_back(term);
  }
  return fit;
}

Verdict Judge(const FitTerm& term, double expected) {
  Verdict verdict;
  verdict.ratio = term.coefficient / expected;
  if (term.standard_error) {
    verdict.within_error = std::abs(term.coefficient - expected) <= 2 * *term.standard_error;
  }
  return verdict;
}

}  // namespace dlcost
