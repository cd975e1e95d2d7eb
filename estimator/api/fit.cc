#include "dlcost/fit.h"

#include "estimator/api/state.h"
#include "estimator/request/calibration.h"
#include "estimator/request/fit_runs.h"

namespace dlcost::api {

struct FittedRuns::State {
  dlcost::FittedRuns fitted;
};

FittedRuns::FittedRuns(std::shared_ptr<const State> state) : state_(std::move(state)) {}

FittedRuns FitRuns(const FitRequest& request) {
  return Guarded([&] {
    return FittedRuns(std::make_shared<const FittedRuns::State>(
        FittedRuns::State{dlcost::FitRuns({.path = request.path,
                                           .x = request.x,
                                           .y = request.y,
                                           .terms = request.terms,
                                           .expected = request.expected})}));
  });
}

std::vector<FittedTerm> FittedRuns::terms() const {
  const auto& [asked, fit] = state_->fitted;
  std::vector<FittedTerm> terms;
  for (const FitTerm& from : fit.terms) {
    FittedTerm& term = terms.emplace_back();
    term.power = from.power;
    term.value = from.coefficient;
    term.standard_error = from.standard_error;
    const auto theory = asked.expected.find(from.power);
    if (theory == asked.expected.end()) continue;
    const dlcost::Verdict verdict = Judge(from, theory->second);
    term.expected = theory->second;
    term.ratio = verdict.ratio;
    term.within_two_standard_errors = verdict.within_error;
  }
  return terms;
}
std::int64_t FittedRuns::runs() const {
  return static_cast<std::int64_t>(state_->fitted.fit.points);
}
double FittedRuns::r_squared() const { return state_->fitted.fit.r_squared; }
double FittedRuns::largest_residual() const { return state_->fitted.fit.largest_residual; }
std::string FittedRuns::Text() const {
  return Guarded([&] { return FitText(state_->fitted); });
}
std::string FittedRuns::Json() const {
  return Guarded([&] { return FitJson(state_->fitted); });
}

namespace {

TimingScore ScoreOf(const Accuracy& accuracy) {
  return {.rows = accuracy.rows,
          .mean = accuracy.mape,
          .median = accuracy.median_ape,
          .bias = accuracy.bias};
}

}  // namespace

CalibratedTiming Calibrate(const CalibrationRequest& request) {
  return Guarded([&] {
    dlcost::CalibrationRequest asked{.devices = request.devices,
                                     .tables = request.tables,
                                     .sources = request.sources,
                                     .fixed = request.fixed,
                                     .overrides = request.changes,
                                     .common = request.common,
                                     .fit_share = request.fit_share,
                                     .sample = request.sample,
                                     .fit = {}};
    if (request.iterations) asked.fit.iterations = *request.iterations;
    if (request.prior) asked.fit.prior = *request.prior;
    const DeviceCalibration calibration = CalibrateDevices(asked);
    const Calibration& result = calibration.result;
    CalibratedTiming timing{.devices = calibration.devices,
                            .constants = {},
                            .before = ScoreOf(result.before),
                            .held_out = ScoreOf(result.held_out),
                            .fitted = ScoreOf(result.fitted),
                            .yaml = TimingYaml(calibration)};
    for (const auto& [constants, refused] :
         {std::pair(&result.constants, false), std::pair(&result.refused, true)}) {
      for (const FittedConstant& one : *constants) {
        const ConstantDef& def = Def(one.constant);
        timing.constants.push_back({std::string(def.name), one.start, one.value,
                                    std::string(def.unit), one.relative_error, refused});
      }
    }
    return timing;
  });
}

}  // namespace dlcost::api
