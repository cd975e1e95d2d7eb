#pragma once

#include <functional>
#include <string>

#include "estimator/report/json_writer.h"

namespace dlcost {

// Where a command's output goes: a file or standard output, a terminal or not.

// Writes to `path`, or to standard output when it is empty or "-". Throws Error when it cannot.
void WriteOutput(const std::string& path, const std::string& content);
// The same for what is written piece by piece.
void WriteOutput(const std::string& path, const std::function<void(const TextSink&)>& write);

// Writes what was rendered in a format: text for people wraps where it goes to a terminal.
void WriteRendered(const std::string& path, const std::string& format, const std::string& content);

// Writes a page as WriteOutput does; throws Error where it would pour into a terminal.
void WritePage(const std::string& path, const std::string& page);

// Columns of the terminal; 0 where standard output is none.
std::size_t TerminalWidth();
// The same for what goes to `path`: 0 where that is a file.
std::size_t WidthOf(const std::string& path);

// Whether the locale is one whose terminals show block characters.
bool ShowsBlocks();

}  // namespace dlcost
