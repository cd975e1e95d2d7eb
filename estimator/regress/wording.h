#pragma once

#include <string>
#include <vector>

#include "estimator/regress/diff.h"

namespace dlcost {

// "a, b and c"; beyond `most`, "a, b and 7 more".
std::string ListNames(const std::vector<std::string>& names, std::size_t most = 4);
// The module path that all names share: "layer1/1" of "/layer1/1/conv1/Conv" and
// "/layer1/1/conv2/Conv"; "" when there is none.
std::string CommonModule(const std::vector<std::string>& names);
// A node's name for people who know the module: "conv1" for "/layer1/1/conv1/Conv" in "layer1/1".
std::string ShortName(const std::string& name, const std::string& op, const std::string& module);
// "+231.2 MMAC (+5.6 %), +1.051 MB of weights, +12.3 us": what is worth a word; "no cost", "next to
// no cost" when nothing is.
// Percentages are of `whole`, the earlier model.
std::string CostText(const Cost& difference, const Report& whole);
// The change as a sentence without its place: what was done, what follows, what it costs.
std::string Sentence(const Change& change, const Report& whole);

}  // namespace dlcost
