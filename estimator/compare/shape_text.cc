#include "estimator/compare/shape_text.h"

#include <map>
#include <string>
#include <vector>

#include "estimator/core/error.h"
#include "estimator/profiles/number.h"
#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

// "mb1_ic3oc64_ih224" as {"mb": 1, "ic": 3, "oc": 64, "ih": 224}; nothing unless all of it is that.
std::map<std::string, std::int64_t> ReadProblem(std::string_view text) {
  std::map<std::string, std::int64_t> problem;
  std::size_t i = 0;
  while (i < text.size()) {
    if (text[i] == '_') {
      ++i;
      continue;
    }
    std::string key;
    while (i < text.size() && text[i] >= 'a' && text[i] <= 'z') key += text[i++];
    std::size_t digits = i;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
    const auto value = ParseInteger(text.substr(i, digits - i));
    if (key.empty() || !value) return {};
    problem.emplace(std::move(key), *value);
    i = digits;
  }
  return problem;
}

std::vector<std::int64_t> ReadExtents(std::string_view text) {
  std::vector<std::int64_t> extents;
  while (!text.empty()) {
    const auto value = ParseInteger(TakeUntil(text, 'x'));
    if (!value) return {};
    extents.push_back(*value);
  }
  return extents;
}

bool Is(const std::map<std::string, std::int64_t>& problem, const std::string& key, Count value) {
  const auto found = problem.find(key);
  return found != problem.end() && Count(found->second) == value;
}

std::optional<bool> MatchesConvolution(const std::map<std::string, std::int64_t>& problem,
                                       const ConvNest& nest) {
  if (!problem.contains("ic") || !problem.contains("oc") || !problem.contains("kw")) {
    return std::nullopt;
  }
  bool fits = Is(problem, "mb", nest.batch) && Is(problem, "ic", nest.in_channels) &&
              Is(problem, "oc", nest.out_channels);
  const char* const kAxes[] = {"w", "h", "d"};  // the last axis of a nest is the width
  for (std::size_t a = 0; a < nest.axes.size() && a < 3; ++a) {
    const ConvAxis& axis = nest.axes[nest.axes.size() - 1 - a];
    const std::string letter = kAxes[a];
    fits = fits && Is(problem, "i" + letter, axis.in) && Is(problem, "o" + letter, axis.out) &&
           Is(problem, "k" + letter, axis.kernel) && Is(problem, "s" + letter, axis.stride);
  }
  return fits;
}

std::optional<bool> Product(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                            const GemmNest& nest) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  Count batch = 1;
  for (std::size_t i = 0; i + 2 < a.size(); ++i) batch = batch * Count(a[i]);
  const Count m = a[a.size() - 2], k = a.back(), n = b.back();
  // The rows of a batch whose other side is shared may be told as one product, or the other way.
  return k == nest.k && n == nest.n && m * batch == nest.m * nest.batch;
}

}  // namespace

std::optional<bool> SpellsShapeOf(std::string_view name, const LoopNest& nest) {
  const std::size_t space = name.rfind(' ');
  const std::string_view text = space == std::string_view::npos ? name : name.substr(space + 1);
  if (const auto* conv = std::get_if<ConvNest>(&nest))
    return MatchesConvolution(ReadProblem(text), *conv);
  const auto* gemm = std::get_if<GemmNest>(&nest);
  if (!gemm) return std::nullopt;
  const auto problem = ReadProblem(text);
  if (problem.contains("ic") && problem.contains("oc") && !problem.contains("kw")) {
    return Is(problem, "ic", gemm->k) && Is(problem, "oc", gemm->n) &&
           Is(problem, "mb", gemm->m * gemm->batch);
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return Product(ReadExtents(text.substr(0, colon)), ReadExtents(text.substr(colon + 1)), *gemm);
}

}  // namespace dlcost
