#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimator/compare/slots.h"

namespace dlcost {

// What a launch may be, by its name.
struct LaunchKind {
  bool product = false;      // certainly
  std::int64_t markers = 0;  // launches that say what they are and of which a model has few
  std::int64_t unknown = 0;  // launches that perhaps are, of this and up to the next
  bool foreign = false;      // no operator's: communication, fills, random numbers
};

// A period of a sequence of names, and how much of its end repeats with it.
struct Period {
  std::size_t length = 0, tail = 0;  // length 0: none
  std::size_t runs() const { return tail / length + 1; }
};

// Each name as a number, equal ones as the same.
std::vector<int> Numbered(const std::vector<std::string>& names);

// The shortest period with as many products as a run should launch, or, with `runs`, with which the
// sequence has so many runs. Few launches of a run may be called otherwise than in the one before
// it, and some launches in front may belong to no run. `kinds`: of each launch of the sequence.
Period FindPeriod(const std::vector<int>& ids, const std::vector<LaunchKind>& kinds,
                  const ExpectedProducts& expected, std::optional<std::int64_t> runs);

// Whether the sequence repeats itself every `period` launches, to the last.
bool RepeatsEvery(const std::vector<int>& ids, std::size_t period);
// Whether all runs of a period are equal to the last launch.
bool RepeatsExactly(const std::vector<int>& ids, const Period& period);

// The shortest length that the whole sequence is a repetition of.
std::size_t ShortestPeriod(const std::vector<int>& ids);

}  // namespace dlcost
