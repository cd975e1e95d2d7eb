#pragma once

#include <string>
#include <vector>

#include "estimator/runtime/runtime.h"

namespace dlcost {

// One line per runtime, columns aligned.
std::string RuntimeListText(const std::vector<Runtime>& runtimes, std::size_t max_width = 0);
// One runtime: each of its choices, what it means here, and the document that says so.
std::string RuntimeText(const Runtime& runtime);
// Schema dlcost.runtimes/1.
std::string RuntimeListJson(const std::vector<Runtime>& runtimes);
// "bias, pointwise": what one kernel runs together; "nothing".
std::string FusedText(const Runtime& runtime);

}  // namespace dlcost
