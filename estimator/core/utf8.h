#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlcost {

// Bytes of the UTF-8 character that begins at `at` (The Unicode Standard, table 3-7); 0 where none
// does: names in a file are arbitrary bytes.
std::size_t CharacterAt(std::string_view text, std::size_t at);

inline constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// `text` with U+FFFD for each byte that is no part of a character, as programs expect text.
std::string AsUtf8(const std::string& text);

// Columns that `text` takes on a terminal: two for each Chinese, Japanese or Korean character and
// most emoji, as fmt pads them; one for any other code point.
std::size_t DisplayWidth(const std::string& text);

// UTF-8 with whole characters left out in the middle, so that it takes `columns` at most, of which
// "..." are three.
std::string CutInMiddle(const std::string& text, std::size_t columns);

}  // namespace dlcost
