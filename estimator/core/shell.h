#pragma once

#include <string>

namespace dlcost {

// `text` as one word of a command line: quoted for bash where it needs to be, on one line whatever
// it holds.
std::string ShellWord(const std::string& text);

}  // namespace dlcost
