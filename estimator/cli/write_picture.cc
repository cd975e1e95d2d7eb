#include "estimator/cli/write_picture.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <filesystem>

#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/core/error.h"
#include "estimator/core/shell.h"

namespace dlcost {
namespace {

constexpr int kNoSuchCommand = 127;  // of a shell

void WritePng(const std::string& path, const std::string& svg) {
  // The shell does not say itself that there is none.
  const std::string command = fmt::format(
      "command -v rsvg-convert > /dev/null || exit {}; rsvg-convert --zoom 2 --output {} 2>&1",
      kNoSuchCommand, ShellWord(path));
  // Where the program is missing, the shell ends before it has read the picture.
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  std::FILE* pipe = popen(command.c_str(), "w");
  if (pipe == nullptr) throw Error("cannot start rsvg-convert for '{}'", Printable(path));
  std::fwrite(svg.data(), 1, svg.size(), pipe);
  const int status = pclose(pipe);
  std::signal(SIGPIPE, before);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoSuchCommand) {
    throw Error(
        "'{}': PNG is made by rsvg-convert, which is not installed (Debian: librsvg2-bin); write "
        "-o picture.svg, which browsers and slides take as it is",
        Printable(path));
  }
  throw Error("rsvg-convert could not write '{}'", Printable(path));
}

}  // namespace

void WritePicture(const std::string& path, const std::string& svg) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".png") {
    WritePng(path, svg);
    return;
  }
  if (!ending.empty() && ending != ".svg") {
    throw Error("'{}': a picture is written as .svg, or as .png; browsers print an SVG as PDF",
                Printable(path));
  }
  if (WidthOf(path) != 0) {
    throw Error("a picture is not for a terminal: write it with -o picture.svg, or pipe it");
  }
  WriteOutput(path, svg);
}

}  // namespace dlcost
