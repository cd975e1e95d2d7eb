#include "estimator/cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "estimator/cli/progress.h"
#include "estimator/core/error.h"
#include "estimator/report/wrap.h"

namespace dlcost {

void WriteOutput(const std::string& path, const std::string& content) {
  WriteOutput(path, [&](const TextSink& sink) { sink(content); });
}

void WriteOutput(const std::string& path, const std::function<void(const TextSink&)>& write) {
  if (WidthOf(path) != 0) EndProgress();
  std::FILE* file = path.empty() || path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  if (file == nullptr) throw Error("cannot write '{}': {}", Printable(path), std::strerror(errno));
  bool written = true;
  write([&](std::string_view piece) {
    written = written && std::fwrite(piece.data(), 1, piece.size(), file) == piece.size();
  });
  EndProgress();
  const bool closed = file == stdout ? std::fflush(file) == 0 : std::fclose(file) == 0;
  if (!written || !closed) {
    throw Error("cannot write '{}': {}", Printable(path), std::strerror(errno));
  }
}

void WriteRendered(const std::string& path, const std::string& format, const std::string& content) {
  WriteOutput(path, format == "text" ? WrapLines(content, WidthOf(path)) : content);
}

void WritePage(const std::string& path, const std::string& page) {
  if (path.empty() && isatty(STDOUT_FILENO) != 0) {
    throw Error("a page is not for a terminal: write it with -o page.html, or pipe it");
  }
  WriteOutput(path, page);
}

std::size_t TerminalWidth() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

std::size_t WidthOf(const std::string& path) {
  return path.empty() || path == "-" ? TerminalWidth() : 0;
}

bool ShowsBlocks() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* locale = std::getenv(name);
    if (locale == nullptr || *locale == '\0') continue;
    const std::string_view text = locale;  // the first that is set counts
    return text.find("UTF-8") != text.npos || text.find("utf8") != text.npos;
  }
  return false;
}

}  // namespace dlcost
