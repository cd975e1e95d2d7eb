#include <memory>

#include "estimator/cli/applies.h"
#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/core/error.h"
#include "estimator/report/derivative_list.h"
#include "estimator/report/operator_list.h"

namespace dlcost {
namespace {

struct OpsArguments {
  std::string name, domain, output;
  std::string format = "text";
  bool derivatives = false;
};

constexpr const char* kOpsExamples =
    "Examples:\n"
    "  dlcost ops\n"
    "  dlcost ops Conv\n"
    "  dlcost ops com.microsoft:Attention\n"
    "  dlcost ops --domain ai.onnx.ml\n"
    "  dlcost ops --derivatives\n";

int RunOpsCommand(const OpsArguments& options, const Applicability& applies) {
  RequireOneOf("--format", options.format, {"text", "markdown"});
  const bool domain = !options.domain.empty();
  applies.Require(domain && !options.name.empty(), "--domain", "for one operator", {options.name});
  applies.Require(domain && options.format == "markdown", "--domain", "with --format markdown",
                  {"--format", "-o", "--output"});
  std::string content;
  if (options.derivatives) {
    if (!options.name.empty()) throw Error("--derivatives is for the whole list");
    RequireOneOf("--format (of --derivatives)", options.format, {"text"});
    content = DerivativeListText(options.domain);
  } else if (options.format == "markdown") {
    if (!options.name.empty()) throw Error("--format markdown is for the whole list");
    content = OperatorsMarkdown();
  } else {
    content = options.name.empty() ? OperatorListText(options.domain, WidthOf(options.output))
                                   : OperatorText(options.name);
  }
  WriteRendered(options.output, options.format, content);
  return 0;
}

}  // namespace

void AddOpsCommand(Commands& commands) {
  auto options = std::make_shared<OpsArguments>();
  CLI::App* app = commands.app.add_subcommand(
      "ops", "the operators that dlcost counts, with formulas; one with worked examples");
  app->footer(kOpsExamples);
  app->add_option("operator", options->name, "an operator; none: list all")->type_name("NAME");
  app->add_option("--domain", options->domain, "only this domain")->type_name("DOMAIN");
  app->add_flag(
      "--derivatives", options->derivatives,
      "for each operator: whether a training step has a rule for its derivative, or why not");
  app->add_option("--format", options->format, "text or markdown")
      ->type_name("FORMAT")
      ->capture_default_str();
  app->add_option("-o,--output", options->output, "write to a file")->type_name("FILE");
  app->callback([&commands, options] {
    commands.run = [&commands, options] {
      return RunOpsCommand(*options, Applicability(commands.words));
    };
  });
}

}  // namespace dlcost
