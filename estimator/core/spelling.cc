#include "estimator/core/spelling.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

constexpr std::size_t kLongestCompared = 64;  // keeps the distance table small for hostile names

std::string Folded(std::string_view text) {
  std::string out(text.substr(0, kLongestCompared));
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// Whether `text` contains `folded`, case ignored.
bool Contains(std::string_view text, std::string_view folded) {
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == b; };
  return std::search(text.begin(), text.end(), folded.begin(), folded.end(), same) != text.end();
}

std::size_t Distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

// The first candidates that contain the word, as "conv1" is part of "/layer1/conv1/Conv".
std::vector<std::string> Containing(std::string_view word,
                                    const std::vector<std::string>& candidates) {
  constexpr std::size_t kMost = 3;
  constexpr std::size_t kShortest = 3;  // two letters are part of half of all names
  std::vector<std::string> found;
  const std::string folded = Folded(word);
  if (folded.size() < kShortest) return found;
  for (const std::string& candidate : candidates) {
    if (found.size() == kMost) break;
    if (!Contains(candidate, folded)) continue;
    if (std::find(found.begin(), found.end(), candidate) == found.end()) found.push_back(candidate);
  }
  return found;
}

}  // namespace

std::string NearestSpelling(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string folded = Folded(word);
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, folded.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = Distance(folded, Folded(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates) {
  std::vector<std::string> likely;
  if (std::string nearest = NearestSpelling(word, candidates); !nearest.empty()) {
    likely.push_back(std::move(nearest));
  } else {
    likely = Containing(word, candidates);
  }
  if (likely.empty()) return "";
  for (std::string& name : likely) name = "'" + Printable(name) + "'";
  return fmt::format(" (did you mean {}?)", fmt::join(likely, " or "));
}

void RequireOneOf(const std::string& option, const std::string& value,
                  const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
  throw Error("{} '{}' is not one of {}{}", option, Printable(value), fmt::join(allowed, ", "),
              DidYouMean(value, allowed));
}

}  // namespace dlcost
