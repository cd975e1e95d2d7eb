#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "estimator/calibrate/fit.h"
#include "estimator/calibrate/runs.h"
#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/core/error.h"
#include "estimator/profiles/number.h"
#include "estimator/report/table.h"

namespace dlcost {
namespace {

struct Options {
  std::string path, x, y, output;
  std::vector<int> terms = {1, 0};
  std::vector<std::string> expect;
  std::string format = "text";
};

constexpr const char* kExamples =
    "Examples:\n"
    "  dlcost fit runs.csv --x layers --y flops --expect 16777216     slope per layer and "
    "baseline\n"
    "  dlcost fit runs.csv --x 'hidden^2' --y flops                   slope over hidden size "
    "squared\n"
    "  dlcost fit runs.csv --x seq --y flops --terms 2 1              quadratic and linear part\n"
    "  dlcost fit runs.csv --x batch --y time_ms --terms=-1 --terms 0  a/batch + b\n";

// "1=16777216", or "16777216" for the first term.
std::map<int, double> ParseExpectations(const Options& options) {
  std::map<int, double> expected;
  for (const std::string& text : options.expect) {
    const std::size_t equals = text.find('=');
    const auto power = equals == std::string::npos
                           ? std::optional<std::int64_t>(options.terms.front())
                           : ParseInteger(text.substr(0, equals));
    const auto value = ParseNumber(equals == std::string::npos ? text : text.substr(equals + 1));
    if (!power || !value || value->value == 0) {
      throw Error("--expect '{}' is not VALUE or POWER=VALUE", Printable(text));
    }
    expected[static_cast<int>(*power)] = value->value;
  }
  for (const auto& [power, value] : expected) {
    if (std::find(options.terms.begin(), options.terms.end(), power) == options.terms.end()) {
      throw Error("--expect names power {}, which --terms does not fit", power);
    }
  }
  return expected;
}

std::string TermName(int power, const std::string& x) {
  if (power == 0) return "baseline";
  if (power == 1) return "slope, per " + x;
  if (power == -1) return "over " + x;
  return fmt::format("per {}^{}", x, power);
}

std::string RenderText(const Options& options, const Fit& fit,
                       const std::map<int, double>& expected) {
  Table table({"term", "value", "standard error", "expected", "ratio", "verdict"},
              {false, false, false, false, false, true});
  for (const FitTerm& term : fit.terms) {
    const auto theory = expected.find(term.power);
    std::string ratio = "-", verdict = "-";
    if (theory != expected.end()) {
      const Verdict judged = Judge(term, theory->second);
      ratio = fmt::format("{:.6f}", judged.ratio);
      verdict = !judged.within_error   ? "no standard error: as many terms as points"
                : *judged.within_error ? "within two standard errors"
                                       : "off by more than two standard errors";
    }
    table.Add({TermName(term.power, options.x), fmt::format("{:.8g}", term.coefficient),
               term.standard_error ? fmt::format("{:.3g}", *term.standard_error) : "-",
               theory != expected.end() ? fmt::format("{:.8g}", theory->second) : "-", ratio,
               verdict});
  }
  return fmt::format(
      "{} over {}, {} runs\n\n{}\nR^2 {:.6f}, largest residual {:.3g} % of its run\n", options.y,
      options.x, fit.points, table.Render(), fit.r_squared, 100 * fit.largest_residual);
}

std::string RenderJson(const Options& options, const Fit& fit,
                       const std::map<int, double>& expected) {
  using Json = nlohmann::ordered_json;
  Json terms = Json::array();
  for (const FitTerm& term : fit.terms) {
    Json one = {{"power", term.power},
                {"value", term.coefficient},
                {"standard_error", term.standard_error ? Json(*term.standard_error) : Json()}};
    if (const auto theory = expected.find(term.power); theory != expected.end()) {
      const Verdict verdict = Judge(term, theory->second);
      one["expected"] = theory->second;
      one["ratio"] = verdict.ratio;
      one["within_two_standard_errors"] =
          verdict.within_error ? Json(*verdict.within_error) : Json();
    }
    terms.push_back(std::move(one));
  }
  const Json json = {{"schema", "dlcost.fit/1"},
                     {"x", options.x},
                     {"y", options.y},
                     {"runs", fit.points},
                     {"terms", terms},
                     {"r_squared", fit.r_squared},
                     {"largest_residual", fit.largest_residual}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int Run(const Options& options) {
  RequireOneOf("--format", options.format, {"text", "json"});
  for (const int power : options.terms) {
    if (power < -2 || power > 4 ||
        std::count(options.terms.begin(), options.terms.end(), power) > 1) {
      throw Error("--terms takes different powers from -2 to 4");
    }
  }
  const std::map<int, double> expected = ParseExpectations(options);
  const Runs runs = ReadRuns(Input::OpenFile(options.path), options.x, options.y);
  const Fit fit = FitPowers(runs.x, runs.y, options.terms);
  WriteRendered(options.output, options.format,
                options.format == "json" ? RenderJson(options, fit, expected)
                                         : RenderText(options, fit, expected));
  return 0;
}

}  // namespace

void AddFitCommand(Commands& commands) {
  auto options = std::make_shared<Options>();
  CLI::App* app =
      commands.app.add_subcommand("fit", "slope and baseline of measured runs, against theory");
  app->footer(kExamples);
  app->add_option("runs", options->path, "table of runs: a header, one row per run")
      ->required()
      ->type_name("FILE");
  app->add_option("--x", options->x, "column that varies; NAME^2 for its square")
      ->required()
      ->type_name("NAME");
  app->add_option("--y", options->y, "column that was measured")->required()->type_name("NAME");
  app->add_option("--terms", options->terms, "powers of x to fit; 0 is the baseline, -1 is 1/x")
      ->type_name("POWER")
      ->capture_default_str();
  app->add_option("--expect", options->expect,
                  "what theory says: VALUE for the first term, POWER=VALUE for any")
      ->type_name("VALUE");
  AddOutputOptions(*app, options->format, options->output);
  app->callback([&commands, options] { commands.run = [options] { return Run(*options); }; });
}

}  // namespace dlcost
