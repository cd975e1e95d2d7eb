#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlcost {

// The candidate closest to `word` (restricted Damerau-Levenshtein distance, case ignored), or ""
// when none is close enough to be a likely typing mistake (more than a third of the word differs).
// Ties go to the first candidate, so the answer is deterministic.
std::string NearestSpelling(std::string_view word, const std::vector<std::string>& candidates);

// " (did you mean 'x'?)" for the nearest spelling, else for up to three candidates that contain the
// word, or "".
std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates);

// Throws Error with the nearest spelling unless `value` is one of `allowed`.
void RequireOneOf(const std::string& option, const std::string& value,
                  const std::vector<std::string>& allowed);

// Name() of each, to choose from.
template <typename Range>
std::vector<std::string> NamesOf(const Range& values) {
  std::vector<std::string> names;
  for (const auto& value : values) names.emplace_back(Name(value));
  return names;
}

}  // namespace dlcost
