#include <fmt/format.h>

#include <memory>

#include "estimator/cli/applies.h"
#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/cli/progress.h"
#include "estimator/core/error.h"
#include "estimator/request/model_formula.h"
#include "estimator/sweep/formula_render.h"

namespace dlcost {
namespace {

struct FormulaArguments {
  ModelOptions model;
  CountOptions count;
  std::vector<std::string> around;
  std::string by = "op";
  std::string format = "text";
  std::string output;
  std::optional<std::size_t> depth;
};

constexpr const char* kFormulaExamples =
    "Examples:\n"
    "  dlcost formula bert.onnx\n"
    "  dlcost formula bert.onnx --batch 1 --format latex\n"
    "  dlcost formula translation.onnx --dim target=source\n"
    "  dlcost formula decoder.onnx --dim total=past+sequence --around past=1024\n";

// NAME=EXPRESSION among the options of --dim goes to `tied`, NAME=N stays.
TiedDims TakeTied(std::vector<std::string>& dims) {
  TiedDims tied;
  std::erase_if(dims, [&](const std::string& text) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) return false;
    const char first = text[equals + 1];
    if (first == '-' || (text.find_first_not_of("0123456789", equals + 1) == std::string::npos)) {
      return false;
    }
    tied[text.substr(0, equals)] = text.substr(equals + 1);
    return true;
  });
  return tied;
}

int RunFormulaCommand(const FormulaArguments& options, const Applicability& applies) {
  RequireOneOf("--format", options.format, {"text", "json", "latex", "cpp", "python"});
  RequireOneOf("--by", options.by, {"op", "scope"});
  applies.Require(options.format != "text" && options.by != FormulaArguments().by, "--by",
                  "with --format " + options.format, {"--format", "-o", "--output"});
  applies.Require(!options.count.algorithms.empty(), "--algo",
                  "that a formula counts: the sums of the operators", {"--algo"});
  applies.Require(options.depth && options.format == "text" && options.by != "scope", "--depth",
                  "without --by scope", {"--depth"},
                  fmt::format("--by scope --depth {}", options.depth.value_or(0)));
  Progress progress(0, "sizes counted");
  FormulaRequest request{.model = options.model,
                         .count = options.count,
                         .scope_depth = options.depth.value_or(FormulaRequest().scope_depth),
                         .on_counted = [&] { progress.Add(); }};
  request.tied = TakeTied(request.model.dims);
  Bindings around;
  for (const std::string& text : options.around) AddDimBinding(around, text);
  request.around = around.dims;
  const Formula formula = FormulaOf(request);
  const std::string& format = options.format;
  WriteRendered(options.output, format,
                format == "json"     ? FormulaJson(formula)
                : format == "latex"  ? FormulaLatex(formula)
                : format == "cpp"    ? FormulaCpp(formula)
                : format == "python" ? FormulaPython(formula)
                                     : FormulaText(formula, options.by == "scope"));
  return 0;
}

}  // namespace

void AddFormulaCommand(Commands& commands) {
  auto options = std::make_shared<FormulaArguments>();
  CLI::App* app = commands.app.add_subcommand(
      "formula", "counts, bytes and memory as exact functions of the open dimensions");
  app->footer(kFormulaExamples);
  AddModelOptions(*app, options->model);
  AddCountOptions(*app, options->count);
  app->add_option("--around", options->around,
                  "where structure depends on a size: the formula that holds around this one")
      ->type_name("NAME=N");
  app->add_option("--by", options->by, "parts: op or scope (module)")
      ->type_name("WHAT")
      ->capture_default_str();
  app->add_option("--depth", options->depth,
                  "levels of modules to tell apart, 0: all; without it 2")
      ->type_name("N");
  app->add_option("--format", options->format, "text, json, latex, cpp or python")
      ->type_name("FORMAT")
      ->capture_default_str();
  app->add_option("-o,--output", options->output, "write to a file")->type_name("FILE");
  app->callback([&commands, options] {
    commands.run = [&commands, options] {
      return RunFormulaCommand(*options, Applicability(commands.words));
    };
  });
}

}  // namespace dlcost
