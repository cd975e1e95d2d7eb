#include "estimator/calibrate/fit.h"

#include <gtest/gtest.h>

#include "estimator/core/error.h"
#include "estimator/profiles/columns.h"
#include "tests/profiles/fixture.h"

namespace dlcost {
namespace {

void ReadRuns(const std::string& fixture, std::vector<double>& x, std::vector<double>& y) {
  Input input = Input::OpenFile(FixturePath(fixture));
  CsvReader csv(input);
  CsvRow row;
  while (csv.Next(row)) {
    const auto layers = ParseNumber(row.fields[0]);
    if (!layers || row.fields.size() != 2) continue;
    x.push_back(layers->value);
    y.push_back(ParseNumber(row.fields[1])->value);
  }
  ASSERT_EQ(x.size(), 3u);
}

// One LSTM layer of width h = 1024 is 8 products of h x h per step and sample: 16 h^2 FLOPs.
constexpr double kTheory = 16.0 * 1024 * 1024;

TEST(FitPowers, ExecutedLstmFlopsGiveTheLayerAndTheProjection) {
  std::vector<double> x, y;
  ReadRuns("lstm_runs_executed.csv", x, y);
  const Fit fit = FitPowers(x, y, {1, 0});
  EXPECT_NEAR(fit.terms[0].coefficient, 16781312, 1e-3);
  EXPECT_NEAR(Judge(fit.terms[0], kTheory).ratio, 1.000244, 5e-7);
  // The baseline is the output projection: 2 h times the vocabulary padded to a multiple of 128.
  EXPECT_NEAR(fit.terms[1].coefficient, 2.0 * 1024 * 10112, 1e-3);
  EXPECT_NEAR(fit.r_squared, 1, 1e-12);
}

TEST(FitPowers, PublishedLstmFlopsAgreeWithinTheirRounding) {
  std::vector<double> x, y;
  ReadRuns("lstm_runs.csv", x, y);
  const Fit fit = FitPowers(x, y, {1, 0});
  EXPECT_NEAR(Judge(fit.terms[0], kTheory).ratio, 1, 0.001);
  EXPECT_NEAR(fit.terms[1].coefficient / (2.0 * 1024 * 10112), 1, 0.003);
  EXPECT_LT(fit.largest_residual, 0.001);  // three digits were published
}

TEST(FitPowers, StandardErrorsByHand) {
  // y = 1 + 2x with residuals -1, 2, -1 after the fit: s^2 = 6 / 1, Sxx = 2, mean x = 1.
  const Fit fit = FitPowers({0, 1, 2}, {0, 5, 4}, {1, 0});
  EXPECT_NEAR(fit.terms[0].coefficient, 2, 1e-12);
  EXPECT_NEAR(fit.terms[1].coefficient, 1, 1e-12);
  EXPECT_NEAR(*fit.terms[0].standard_error, std::sqrt(6.0 / 2), 1e-12);
  EXPECT_NEAR(*fit.terms[1].standard_error, std::sqrt(6.0 * (1.0 / 3 + 1.0 / 2)), 1e-12);
  EXPECT_NEAR(fit.r_squared, 1 - 6.0 / 14, 1e-12);
  EXPECT_EQ(Judge(fit.terms[0], 3).within_error, true);
}

TEST(FitPowers, LinearAndQuadraticInTheSequence) {
  // An encoder layer, d = 512: 24 L d^2 + 4 L^2 d.
  std::vector<double> x, y;
  for (const double l : {30.0, 128.0, 512.0, 1024.0}) {
    x.push_back(l);
    y.push_back(24 * l * 512 * 512 + 4 * l * l * 512);
  }
  const Fit fit = FitPowers(x, y, {2, 1});
  EXPECT_NEAR(fit.terms[0].coefficient, 4 * 512, 1e-6);
  EXPECT_NEAR(fit.terms[1].coefficient, 24.0 * 512 * 512, 1e-3);
}

TEST(FitPowers, LatencyThatBatchesShare) {
  const Fit fit = FitPowers({1, 2, 4, 8}, {11, 6, 3.5, 2.25}, {-1, 0});
  EXPECT_NEAR(fit.terms[0].coefficient, 10, 1e-9);
  EXPECT_NEAR(fit.terms[1].coefficient, 1, 1e-9);
}

TEST(FitPowers, WhatCannotBeFitted) {
  EXPECT_THROW(FitPowers({1}, {1}, {1, 0}), Error);
  EXPECT_THROW(FitPowers({2, 2, 2}, {1, 2, 3}, {1, 0}), Error);
  EXPECT_THROW(FitPowers({0, 1, 2}, {1, 2, 3}, {-1, 0}), Error);
  EXPECT_THROW(FitPowers({1e200, 2e200}, {1, 2}, {2, 0}), Error);
  EXPECT_FALSE(FitPowers({1, 2}, {1, 2}, {1, 0}).terms[0].standard_error);
}

}  // namespace
}  // namespace dlcost
