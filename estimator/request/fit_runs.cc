#include "estimator/request/fit_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/calibrate/runs.h"
#include "estimator/core/error.h"
#include "estimator/report/table.h"

namespace dlcost {
namespace {

std::string TermName(int power, const std::string& x) {
  if (power == 0) return "baseline";
  if (power == 1) return "slope, per " + x;
  if (power == -1) return "over " + x;
  return fmt::format("per {}^{}", x, power);
}

}  // namespace

FittedRuns FitRuns(const FitRequest& request) {
  if (request.terms.empty()) throw Error("--terms takes different powers from -2 to 4");
  for (const int power : request.terms) {
    if (power < -2 || power > 4 ||
        std::count(request.terms.begin(), request.terms.end(), power) > 1) {
      throw Error("--terms takes different powers from -2 to 4");
    }
  }
  for (const auto& [power, value] : request.expected) {
    if (value == 0) throw Error("--expect {}=0: theory that expects nothing has no ratio", power);
    if (std::find(request.terms.begin(), request.terms.end(), power) == request.terms.end()) {
      throw Error("--expect names power {}, which --terms does not fit", power);
    }
  }
  const Runs runs = ReadRuns(Input::OpenFile(request.path), request.x, request.y);
  return {request, FitPowers(runs.x, runs.y, request.terms)};
}

std::string FitText(const FittedRuns& fitted) {
  const auto& [asked, fit] = fitted;
  Table table({"term", "value", "standard error", "expected", "ratio", "verdict"},
              {false, false, false, false, false, true});
  for (const FitTerm& term : fit.terms) {
    const auto theory = asked.expected.find(term.power);
    std::string ratio = "-", verdict = "-";
    if (theory != asked.expected.end()) {
      const Verdict judged = Judge(term, theory->second);
      ratio = fmt::format("{:.6f}", judged.ratio);
      verdict = !judged.within_error   ? "no standard error: as many terms as points"
                : *judged.within_error ? "within two standard errors"
                                       : "off by more than two standard errors";
    }
    table.Add({TermName(term.power, asked.x), fmt::format("{:.8g}", term.coefficient),
               term.standard_error ? fmt::format("{:.3g}", *term.standard_error) : "-",
               theory != asked.expected.end() ? fmt::format("{:.8g}", theory->second) : "-", ratio,
               verdict});
  }
  return fmt::format(
      "{} over {}, {} runs\n\n{}\nR^2 {:.6f}, largest residual {:.3g} % of its run\n", asked.y,
      asked.x, fit.points, table.Render(), fit.r_squared, 100 * fit.largest_residual);
}

std::string FitJson(const FittedRuns& fitted) {
  const auto& [asked, fit] = fitted;
  using Json = nlohmann::ordered_json;
  Json terms = Json::array();
  for (const FitTerm& term : fit.terms) {
    Json one = {{"power", term.power},
                {"value", term.coefficient},
                {"standard_error", term.standard_error ? Json(*term.standard_error) : Json()}};
    if (const auto theory = asked.expected.find(term.power); theory != asked.expected.end()) {
      const Verdict verdict = Judge(term, theory->second);
      one["expected"] = theory->second;
      one["ratio"] = verdict.ratio;
      one["within_two_standard_errors"] =
          verdict.within_error ? Json(*verdict.within_error) : Json();
    }
    terms.push_back(std::move(one));
  }
  const Json json = {{"schema", "dlcost.fit/1"},
                     {"x", asked.x},
                     {"y", asked.y},
                     {"runs", fit.points},
                     {"terms", terms},
                     {"r_squared", fit.r_squared},
                     {"largest_residual", fit.largest_residual}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dlcost
