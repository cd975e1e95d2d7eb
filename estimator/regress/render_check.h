#pragma once

#include <string>
#include <vector>

#include "estimator/regress/check.h"

namespace dlcost {

bool AllPassed(const std::vector<CheckRun>& runs);

// For a terminal: what failed and why, then what passed. Lines fit into `max_width` columns; 0: any
// number.
std::string RenderCheckText(const std::vector<CheckRun>& runs, std::size_t max_width = 0);
// For a pull request: failures open, the rest folded.
std::string RenderCheckMarkdown(const std::vector<CheckRun>& runs);
// JUnit XML: a suite per run, a case per requirement.
std::string RenderCheckJunit(const std::vector<CheckRun>& runs);
// GitHub workflow commands: an error per failure, a warning per note.
std::string RenderCheckGithub(const std::vector<CheckRun>& runs);
// Schema dlcost.check/1 (docs/report.md).
std::string RenderCheckJson(const std::vector<CheckRun>& runs);

}  // namespace dlcost
