#pragma once

namespace dlcost {

// The files in page/, embedded by CMake.
extern const char* const kPageHtml;    // with @TITLE@, @STYLE@, @DATA@ and @SCRIPT@ to fill in
extern const char* const kPageStyle;   // page.css
extern const char* const kPageScript;  // every script, in the order in which they need each other

}  // namespace dlcost
