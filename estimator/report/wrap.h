#pragma once

#include <string>

namespace dlcost {

// One line broken at blanks, so that each has at most `width` columns; lines after the first begin
// with `indent` blanks. A word is never cut, so that paths and commands can be copied; colours take
// no room.
std::string Wrap(const std::string& text, std::size_t width, std::size_t indent);

// Text for people on a screen of `width` columns (0: as it is): longer lines break at blanks, and
// go on below where their text begins: behind the label of "memory    peak ...", in the column of
// "  --batch N    size ...", else two columns further in
// where the line begins with blanks.
std::string WrapLines(const std::string& text, std::size_t width);

}  // namespace dlcost
