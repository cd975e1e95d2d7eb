#include <fmt/ranges.h>
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "estimator/cli/commands.h"
#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/sweep/sizes.h"

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

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return names;
}

// A first word that is neither a command nor a file, and looks like no path, is a command mistyped.
bool IsMistypedCommand(const CLI::App& app, const std::string& word) {
  if (word.empty() || word[0] == '-' || word.find_first_of("./\\") != std::string::npos) {
    return false;
  }
  std::error_code error;
  const std::vector<std::string> commands = CommandNames(app);
  return !std::filesystem::exists(word, error) &&
         std::find(commands.begin(), commands.end(), word) == commands.end();
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
    }
  }
  std::fprintf(stderr, "dlcost: %s; see dlcost %s--help\n", message.c_str(),
               chosen == &app ? "" : (chosen->get_name() + " ").c_str());
  return kWrongInput;
}

int Main(int argc, char** argv) {
  CLI::App app(kDescription, "dlcost");
  app.footer(kExamples);
  app.set_version_flag("--version", "dlcost " DLCOST_VERSION);
  app.require_subcommand(1);
  Commands commands{app, nullptr};
  AddReportCommand(commands);
  AddExplainCommand(commands);
  AddCompareCommand(commands);
  AddMeasuredCommand(commands);
  AddFitCommand(commands);
  AddDiffCommand(commands);
  AddCheckCommand(commands);
  AddHtmlCommand(commands);
  AddFormulaCommand(commands);
  AddSweepCommand(commands);
  AddGpusCommand(commands);
  AddScaleCommand(commands);
  AddParallelCommand(commands);
  AddInputCommand(commands);
  AddSystemsCommand(commands);
  AddCollectiveCommand(commands);
  AddRuntimesCommand(commands);
  AddOpsCommand(commands);
  AddNetworkCommand(commands);
  AddTrainCommand(commands);
  AddCalibrateCommand(commands);

  // The default command: whatever does not name another one is a model to report on.
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) words = {"--help"};
  const std::vector<std::string> names = CommandNames(app);
  if (IsMistypedCommand(app, words[0])) {
    throw Error("'{}' is neither a command nor a file{}; commands: {}", Printable(words[0]),
                DidYouMean(words[0], names), fmt::join(names, ", "));
  }
  const bool general = words[0] == "--help" || words[0] == "-h" || words[0] == "--version" ||
                       words[0] == "--help-all";
  if (!general && std::find(names.begin(), names.end(), words[0]) == names.end()) {
    words.insert(words.begin(), NamesLists(words) ? "sweep" : "report");
  }
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 takes them
  try {
    app.parse(reversed);
  } catch (const CLI::Success& success) {
    return app.exit(success);  // --help, --version
  } catch (const CLI::ParseError& error) {
    return ExplainParseError(app, error);
  }
  return commands.run();
}

}  // namespace
}  // namespace dlcost

int main(int argc, char** argv) {
  // A short-lived process that only grows: large arrays stay in the heap, and nothing goes back to
  // the system before the end. A tenth of the run of a large model.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  // Small blocks that are freed wait in a cache per thread; the lists behind it, which a large
  // allocation merges every time, cost another tenth.
  mallopt(M_MXFAST, 0);
  try {
    return dlcost::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "dlcost: out of memory\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dlcost: %s\n", error.what());
  }
  return dlcost::kWrongInput;
}
