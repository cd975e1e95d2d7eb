#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "estimator/cli/applies.h"

namespace dlcost {

// A report that was written before is as it is: throws Error where all `files` are reports and an
// option is given that says how a model is read, run or counted (those under the headings of
// options.h), with the command for their models, in which it does something. --gpu is none of
// them: it asks for reports of that device.
void RequireModelFor(const CLI::App& app, const std::vector<std::string>& files,
                     const Applicability& applies);

}  // namespace dlcost
