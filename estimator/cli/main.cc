#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/cli/command_line.h"
#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/cli/progress.h"
#include "estimator/cli/shell_command.h"
#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/infer/sizes.h"
#include "estimator/report/wrap.h"
#include "models/networks/networks.h"

namespace dlcost {
namespace {

constexpr int kWrongInput = 2;

constexpr const char* kDescription =
    "dlcost: FLOPs, bytes and rooflines of ONNX models, without running them.\n"
    "`dlcost MODEL ...` is short for `dlcost report MODEL ...`.";

constexpr const char* kExamples =
    "Examples:\n"
    "  dlcost resnet50.onnx --gpu a100\n"
    "  dlcost bert.onnx --gpu h100 --batch 32 --dim seq=512\n"
    "  dlcost gpus h100\n"
    "  dlcost report --help\n";

// Every long option of the command that was chosen, for suggestions.
std::vector<std::string> LongOptions(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Every subcommand, in the order of --help, under its heading there.
struct Command {
  const char* heading;
  std::string_view name;
  void (*add)(Commands&);
};
constexpr const char* kAModel = "A model";
constexpr const char* kMeasured = "What was measured";
constexpr const char* kManyDevices = "Many devices";
constexpr const char* kKnown = "What dlcost knows";
constexpr const char* kFiles = "Files";
constexpr Command kCommands[] = {
    {kAModel, "report", AddReportCommand},
    {kAModel, "explain", AddExplainCommand},
    {kAModel, "diff", AddDiffCommand},
    {kAModel, "check", AddCheckCommand},
    {kAModel, "html", AddHtmlCommand},
    {kAModel, "plot", AddPlotCommand},
    {kAModel, "formula", AddFormulaCommand},
    {kAModel, "sweep", AddSweepCommand},
    {kMeasured, "compare", AddCompareCommand},
    {kMeasured, "measured", AddMeasuredCommand},
    {kMeasured, "fit", AddFitCommand},
    {kMeasured, "calibrate", AddCalibrateCommand},
    {kManyDevices, "scale", AddScaleCommand},
    {kManyDevices, "parallel", AddParallelCommand},
    {kManyDevices, "input", AddInputCommand},
    {kManyDevices, "collective", AddCollectiveCommand},
    {kKnown, "gpus", AddGpusCommand},
    {kKnown, "systems", AddSystemsCommand},
    {kKnown, "runtimes", AddRuntimesCommand},
    {kKnown, "ops", AddOpsCommand},
    {kFiles, "network", AddNetworkCommand},
    {kFiles, "train", AddTrainCommand},
    {kFiles, "completion", AddCompletionCommand},
    {kFiles, "man", AddManCommand},
};

// Whether it reads what may be large.
bool TakesLong(const Command& command) {
  return command.heading != std::string_view(kKnown) && command.name != "completion" &&
         command.name != "man";
}

// "" for a number as an option takes it, else what is wrong.
std::string IsNotNegative(const std::string& text) {
  return text.starts_with('-') ? Printable(text) + " is below 0" : "";
}

// "" for a value that names something: an unset variable of a script would be as if the option were
// not there.
std::string IsThere(const std::string& text) { return text.empty() ? "an empty value" : ""; }

void Add(const Command& command, Commands& commands) {
  command.add(commands);
  CLI::App* app = commands.app.get_subcommand(std::string(command.name));
  app->group(command.heading);
  for (CLI::Option* option : app->get_options()) {
    if (option->get_items_expected_min() > 0) option->check(IsThere);
  }
  // "-1" would be read as the largest of counts.
  for (const char* name : {"--top", "--depth"}) {
    if (CLI::Option* option = app->get_option_no_throw(name)) option->check(IsNotNegative);
  }
  if (TakesLong(command)) {
    app->add_flag("--quiet", commands.quiet, "do not show how far it is, or for how long it runs");
  }
}

bool IsCommand(std::string_view word) {
  return std::any_of(std::begin(kCommands), std::end(kCommands),
                     [&](const Command& command) { return command.name == word; });
}

std::vector<std::string> CommandNames() {
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  return names;
}

// A first word that is neither a command nor a file, and looks like no path, is a command mistyped.
bool IsMistypedCommand(const std::string& word) {
  if (word.empty() || word[0] == '-' || word.find_first_of("./\\") != std::string::npos) {
    return false;
  }
  std::error_code error;
  return !IsCommand(word) && !std::filesystem::exists(word, error);
}

bool IsNetwork(const std::string& word) {
  const std::vector<NetworkInfo>& networks = Networks();
  return std::any_of(networks.begin(), networks.end(),
                     [&](const NetworkInfo& network) { return network.name == word; });
}

// A model without a command whose sizes are lists is swept.
bool NamesLists(const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    for (const char* option : {"--batch", "--dim"}) {
      std::string value;
      if (words[i] == option && i + 1 < words.size()) value = words[i + 1];
      if (words[i].starts_with(std::string(option) + "=")) {
        value = words[i].substr(std::string(option).size() + 1);
      }
      const std::size_t sizes = option == std::string("--dim") ? value.rfind('=') + 1 : 0;
      if (IsSizeList(value.substr(std::min(sizes, value.size())))) return true;
    }
  }
  return false;
}

// What CLI11 says, in one line, with the nearest spelling of an unknown option.
int ExplainParseError(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* chosen = &app;
  for (const CLI::App* command : app.get_subcommands()) chosen = command;
  std::string message = error.what();
  const std::size_t line_end = message.find('\n');
  if (line_end != std::string::npos) message.resize(line_end);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::vector<std::string> extras = chosen->remaining(true);
    if (!extras.empty()) {
      message = "unexpected argument '" + Printable(extras.front()) + "'" +
                DidYouMean(extras.front(), LongOptions(*chosen));
      std::error_code none;
      if (chosen->get_name() == "report" && std::filesystem::exists(extras.front(), none)) {
        message += "; two models side by side: dlcost diff, or dlcost html";
      }
    }
  }
  std::fprintf(stderr, "dlcost: %s; see dlcost %s--help\n", message.c_str(),
               chosen == &app ? "" : (chosen->get_name() + " ").c_str());
  return kWrongInput;
}

int Run(int argc, char** argv) {
  CLI::App app(kDescription, "dlcost");
  app.footer(kExamples);
  app.set_version_flag("--version", "dlcost " DLCOST_VERSION);
  app.require_subcommand(1);
  Commands commands{app, nullptr};
  // The default command: whatever does not name another one is a model to report on.
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) words = {"--help"};
  if (words[0] == "--version" || (words[0] == "version" && IsMistypedCommand(words[0]))) {
    // Without the exception by which CLI11 says so: a static program sorts all of its frames for
    // the first one, which takes longer than all the rest.
    std::puts("dlcost " DLCOST_VERSION);
    return 0;
  }
  // As other programs have it: "dlcost help sweep".
  if (words[0] == "help" && IsMistypedCommand(words[0])) {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  if (IsMistypedCommand(words[0])) {
    if (IsNetwork(words[0])) {
      throw Error("'{0}' is a network that dlcost can write: dlcost network {0} -o {0}.onnx",
                  words[0]);
    }
    const std::vector<std::string> names = CommandNames();
    throw Error("'{}' is neither a command nor a file{}; commands: {}", Printable(words[0]),
                DidYouMean(words[0], names), fmt::join(names, ", "));
  }
  const bool general = words[0] == "--help" || words[0] == "-h" || words[0] == "--help-all";
  if (!general && !IsCommand(words[0])) {
    words.insert(words.begin(), NamesLists(words) ? "sweep" : "report");
  }
  commands.words = words;
  // Hundreds of options take longer to describe than a small model takes to count: only those of
  // the command that is asked for.
  for (const Command& command : kCommands) {
    if (words[0] == command.name || general) Add(command, commands);
  }
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 takes them
  try {
    app.parse(reversed);
  } catch (const CLI::Success& success) {
    std::ostringstream help, errors;
    const int code = app.exit(success, help, errors);  // --help, --version
    const std::string text = WrapLines(help.str(), TerminalWidth());
    std::fwrite(text.data(), 1, text.size(), stdout);
    return code;
  } catch (const CLI::ParseError& error) {
    return ExplainParseError(app, error);
  }
  const ProgressLine line(words[0], commands.quiet);
  return commands.run();
}

}  // namespace

void AddEveryCommand(Commands& commands) {
  for (const Command& command : kCommands) Add(command, commands);
}

int CommandLine(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "dlcost: out of memory\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dlcost: %s\n", error.what());
  }
  return kWrongInput;
}

}  // namespace dlcost
