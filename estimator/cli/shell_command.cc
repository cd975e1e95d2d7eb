// `dlcost completion bash|zsh|fish` and `dlcost man`: what the options tell of themselves, for
// shells and for man.
#include "estimator/cli/shell_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/hardware/database.h"

namespace dlcost {
namespace {

// `text` with `before` in front of each of the characters `special`.
std::string Escaped(const std::string& text, std::string_view special, std::string_view before) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += before;
    out += c;
  }
  return out;
}

std::string Replaced(const std::string& text, char what, std::string_view with) {
  std::string out;
  for (const char c : text) {
    if (c == what) {
      out += with;
    } else {
      out += c;
    }
  }
  return out;
}

// "--gpu", "-o": every spelling of an option; none of a positional argument.
std::vector<std::string> Spellings(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

// Those that the help shows: others are taken for their old names alone.
std::vector<const CLI::Option*> OptionsOf(const CLI::App& command) {
  return command.get_options(
      [](const CLI::Option* option) { return !option->get_group().empty(); });
}

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }
bool TakesDevice(const CLI::Option& option) { return option.get_type_name() == "ID"; }

using EachOption = std::function<void(const CLI::App&, const CLI::Option&)>;

void ForEachOption(const CLI::App& app, const EachOption& visit) {
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    for (const CLI::Option* option : OptionsOf(*command)) {
      if (!option->get_positional() || !Spellings(*option).empty()) visit(*command, *option);
    }
  }
}

std::vector<std::string> DeviceNames() {
  std::vector<std::string> names = {"all"};
  for (const Device& device : OpenDatabase().All()) {
    names.push_back(device.id);
    names.insert(names.end(), device.aliases.begin(), device.aliases.end());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::string> CommandNamesOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return names;
}

std::string BashCompletion(const CLI::App& app) {
  std::string cases;
  std::vector<std::string> devices, values;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    std::vector<std::string> names;
    for (const CLI::Option* option : OptionsOf(*command)) {
      const std::vector<std::string> spellings = Spellings(*option);
      names.insert(names.end(), spellings.begin(), spellings.end());
      if (!TakesValue(*option)) continue;
      auto& group = TakesDevice(*option) ? devices : values;
      for (const std::string& name : spellings) {
        if (std::find(group.begin(), group.end(), name) == group.end()) group.push_back(name);
      }
    }
    cases += fmt::format("    {}) options='{}' ;;\n", command->get_name(), fmt::join(names, " "));
  }
  return fmt::format(
      "# bash completion for dlcost; written by `dlcost completion bash`.\n"
      "_dlcost() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  local commands='{0}' command=report options\n"
      "  case \" $commands \" in *\" ${{COMP_WORDS[1]}} \"*) command=${{COMP_WORDS[1]}} ;; esac\n"
      "  case $previous in\n"
      "    {1}) COMPREPLY=($(compgen -W '{2}' -- \"$current\")); return ;;\n"
      "    {3}) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n"
      "  esac\n"
      "  case $command in\n{4}  esac\n"
      "  if [[ $current == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
      "  elif [[ $COMP_CWORD == 1 ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$commands\" -- \"$current\") $(compgen -f -- \"$current\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
      "  fi\n"
      "}}\n"
      "complete -o filenames -F _dlcost dlcost\n",
      fmt::join(CommandNamesOf(app), " "), fmt::join(devices, "|"), fmt::join(DeviceNames(), " "),
      fmt::join(values, "|"), cases);
}

std::string ZshText(const std::string& text) {
  return Replaced(Escaped(text, "[]:\\", "\\"), '\'', "'\\''");
}

std::string ZshCompletion(const CLI::App& app) {
  std::string commands, cases;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    commands +=
        fmt::format("    '{}:{}'\n", command->get_name(), ZshText(command->get_description()));
    std::string specs;
    for (const CLI::Option* option : OptionsOf(*command)) {
      for (const std::string& name : Spellings(*option)) {
        specs += fmt::format(" \\\n        '*{}[{}]", name, ZshText(option->get_description()));
        if (TakesDevice(*option)) {
          specs += ":device:_dlcost_devices";
        } else if (TakesValue(*option)) {
          specs += fmt::format(":{}:_files", ZshText(option->get_type_name()));
        }
        specs += "'";
      }
    }
    cases += fmt::format("    {}) _arguments{} \\\n        '*:file:_files' ;;\n",
                         command->get_name(), specs);
  }
  return fmt::format(
      "#compdef dlcost\n"
      "# zsh completion for dlcost; written by `dlcost completion zsh`.\n"
      "_dlcost_devices() {{\n  local -a devices=({})\n  compadd -a devices\n}}\n"
      "_dlcost() {{\n"
      "  local -a commands=(\n{}  )\n"
      "  local command=report\n"
      "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
      "    _describe command commands\n    _files\n    return\n  fi\n"
      "  if (( ${{commands[(I)$words[2]:*]}} )); then\n"
      "    command=$words[2]\n    shift words\n    (( CURRENT-- ))\n  fi\n"
      "  case $command in\n{}  esac\n"
      "}}\n"
      // A file of $fpath is the function's first call; otherwise it is sourced.
      "if [[ $funcstack[1] == _dlcost ]]; then\n  _dlcost \"$@\"\n"
      "else\n  compdef _dlcost dlcost\nfi\n",
      fmt::join(DeviceNames(), " "), commands, cases);
}

std::string FishText(const std::string& text) { return Escaped(text, "\\'", "\\"); }

std::string FishCompletion(const CLI::App& app) {
  std::string out =
      "# fish completion for dlcost; written by `dlcost completion fish`.\n"
      "set -l commands " +
      fmt::format("{}\n", fmt::join(CommandNamesOf(app), " "));
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    out += fmt::format(
        "complete -c dlcost -n 'not __fish_seen_subcommand_from '\"$commands\" -a {} -d '{}'\n",
        command->get_name(), FishText(command->get_description()));
  }
  const std::string devices = fmt::format("{}", fmt::join(DeviceNames(), " "));
  ForEachOption(app, [&](const CLI::App& command, const CLI::Option& option) {
    // A model without a command is a report.
    const std::string when = command.get_name() == "report"
                                 ? "not __fish_seen_subcommand_from '\"$commands\"'; or "
                                   "__fish_seen_subcommand_from report"
                                 : "__fish_seen_subcommand_from " + command.get_name();
    out += fmt::format("complete -c dlcost -n '{}'", when);
    for (const std::string& name : option.get_lnames()) out += " -l " + name;
    for (const std::string& name : option.get_snames()) out += " -s " + name;
    if (TakesDevice(option)) {
      out += fmt::format(" -x -a '{}'", devices);
    } else if (TakesValue(option)) {
      out += " -r";
    }
    out += fmt::format(" -d '{}'\n", FishText(option.get_description()));
  });
  return out;
}

// Text of a page for man: hyphens that are minus signs, and no line that is taken for a request.
std::string Roff(const std::string& text) {
  std::string out = Replaced(Replaced(text, '\\', "\\e"), '-', "\\-");
  out = Replaced(out, '\n', "\n.br\n");
  if (!out.empty() && (out[0] == '.' || out[0] == '\'')) out = "\\&" + out;
  return Replaced(out, '`', "\\(ga");
}

std::string ManPage(const CLI::App& app) {
  std::string out = fmt::format(
      ".TH DLCOST 1 \"\" \"dlcost {}\"\n.SH NAME\n"
      "dlcost \\- FLOPs, bytes and rooflines of ONNX models, without running them\n"
      ".SH SYNOPSIS\n.B dlcost\n.I MODEL\n[options]\n.br\n.B dlcost\n.I COMMAND\n[arguments] "
      "[options]\n"
      ".SH DESCRIPTION\n{}\n.SH COMMANDS\n",
      DLCOST_VERSION, Roff(app.get_description()));
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    out += fmt::format(".SS {}\n{}\n", Roff(command->get_name()), Roff(command->get_description()));
    for (const CLI::Option* option : OptionsOf(*command)) {
      std::vector<std::string> names = Spellings(*option);
      if (names.empty()) names = {option->get_type_name()};
      const std::string value = TakesValue(*option) && !Spellings(*option).empty()
                                    ? " \\fI" + Roff(option->get_type_name()) + "\\fR"
                                    : "";
      out += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", Roff(fmt::format("{}", fmt::join(names, ", "))),
                         value, Roff(option->get_description()));
    }
  }
  out +=
      ".SH EXIT STATUS\n.TP\n0\ndone\n.TP\n1\na check failed\n.TP\n2\nthe command line or an input "
      "is wrong; one line says what, where and what to do\n"
      ".SH ENVIRONMENT\n.TP\n\\fBDLCOST_HW_PATH\\fR\ndirectories of device files, separated by "
      "colons, before the built\\-in ones\n.TP\n\\fBDLCOST_HW_SPECS\\fR\na directory of device "
      "files instead of the built\\-in ones\n";
  return out;
}

// The whole program's options, to tell of.
template <typename Render>
std::string OfWholeProgram(const CLI::App& described, Render render) {
  CLI::App app(described.get_description(), described.get_name());
  Commands commands{app, nullptr};
  AddEveryCommand(commands);
  return render(app);
}

}  // namespace

void AddCompletionCommand(Commands& commands) {
  auto shell = std::make_shared<std::string>();
  CLI::App* app = commands.app.add_subcommand("completion", "a shell's completion of dlcost");
  app->footer(
      "Examples:\n"
      "  dlcost completion bash > ~/.local/share/bash-completion/completions/dlcost\n"
      "  dlcost completion zsh > ~/.zfunc/_dlcost\n"
      "  dlcost completion fish > ~/.config/fish/completions/dlcost.fish\n");
  app->add_option("shell", *shell, "bash, zsh or fish")->required()->type_name("SHELL");
  app->callback([&commands, shell] {
    commands.run = [&commands, shell] {
      RequireOneOf("shell", *shell, {"bash", "zsh", "fish"});
      WriteOutput("", OfWholeProgram(commands.app, *shell == "bash"  ? BashCompletion
                                                   : *shell == "zsh" ? ZshCompletion
                                                                     : FishCompletion));
      return 0;
    };
  });
}

void AddManCommand(Commands& commands) {
  CLI::App* app = commands.app.add_subcommand("man", "this program's manual page, for man -l -");
  app->callback([&commands] {
    commands.run = [&commands] {
      WriteOutput("", OfWholeProgram(commands.app, ManPage));
      return 0;
    };
  });
}

}  // namespace dlcost
