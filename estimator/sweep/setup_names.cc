#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "estimator/sweep/sweep_render.h"

namespace dlcost {
namespace {

struct Part {
  const char* head;
  const std::string& (*of)(const SweepSetup&);
};

const std::array kParts = {
    Part{"runtime", [](const SweepSetup& s) -> const std::string& { return s.report.runtime; }},
    Part{"dtype", [](const SweepSetup& s) -> const std::string& { return s.dtype; }},
    Part{"precision", [](const SweepSetup& s) -> const std::string& { return s.precision; }},
    Part{"train", [](const SweepSetup& s) -> const std::string& { return s.train; }},
};

bool Differs(const Sweep& sweep, const Part& part) {
  return std::any_of(sweep.setups.begin(), sweep.setups.end(), [&](const SweepSetup& one) {
    return part.of(one) != part.of(sweep.setups.front());
  });
}

}  // namespace

std::string SetupName(const Sweep& sweep, std::size_t setup) {
  std::vector<std::string> words;
  for (const Part& part : kParts) {
    const std::string& word = part.of(sweep.setups[setup]);
    const bool shown = &word == &sweep.setups[setup].dtype || Differs(sweep, part);
    if (shown && !word.empty()) words.push_back(word);
  }
  return fmt::format("{}", fmt::join(words, " "));
}

std::string SetupHead(const Sweep& sweep) {
  std::vector<std::string> words;
  for (const Part& part : kParts) {
    if (Differs(sweep, part)) words.emplace_back(part.head);
  }
  // A list that names one thing twice.
  return words.empty() ? "dtype" : fmt::format("{}", fmt::join(words, " "));
}

std::string RuntimesOf(const Sweep& sweep) {
  std::vector<std::string> names;
  for (const SweepSetup& setup : sweep.setups) {
    const std::string& name = setup.report.runtime;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace dlcost
