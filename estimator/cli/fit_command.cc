#include <map>
#include <memory>

#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/core/error.h"
#include "estimator/profiles/number.h"
#include "estimator/request/fit_runs.h"

namespace dlcost {
namespace {

struct FitArguments {
  std::string path, x, y, output;
  std::vector<int> terms = {1, 0};
  std::vector<std::string> expect;
  std::string format = "text";
};

constexpr const char* kFitExamples =
    "Examples:\n"
    "  dlcost fit runs.csv --x layers --y flops --expect 16777216     slope per layer and "
    "baseline\n"
    "  dlcost fit runs.csv --x 'hidden^2' --y flops                   slope over hidden size "
    "squared\n"
    "  dlcost fit runs.csv --x seq --y flops --terms 2 1              quadratic and linear part\n"
    "  dlcost fit runs.csv --x batch --y time_ms --terms=-1 --terms 0  a/batch + b\n";

// "1=16777216", or "16777216" for the first term.
std::map<int, double> ParseExpectations(const FitArguments& options) {
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
  return expected;
}

int RunFitCommand(const FitArguments& options) {
  RequireOneOf("--format", options.format, {"text", "json"});
  const FittedRuns fitted = FitRuns({.path = options.path,
                                     .x = options.x,
                                     .y = options.y,
                                     .terms = options.terms,
                                     .expected = ParseExpectations(options)});
  WriteRendered(options.output, options.format,
                options.format == "json" ? FitJson(fitted) : FitText(fitted));
  return 0;
}

}  // namespace

void AddFitCommand(Commands& commands) {
  auto options = std::make_shared<FitArguments>();
  CLI::App* app =
      commands.app.add_subcommand("fit", "slope and baseline of measured runs, against theory");
  app->footer(kFitExamples);
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
  app->callback(
      [&commands, options] { commands.run = [options] { return RunFitCommand(*options); }; });
}

}  // namespace dlcost
