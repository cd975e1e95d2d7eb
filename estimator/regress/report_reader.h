#pragma once

#include <string>
#include <string_view>

#include "estimator/report/report.h"

namespace dlcost {

// Reads a report in schema dlcost.report/1, as `--format json` writes it. Throws Error naming the
// file: not JSON, not a report, a newer schema, a field that is missing or of the wrong kind.
Report ReadReport(const std::string& path);
// The same from text; `path` only names the source in messages.
Report ReadReportFromText(std::string_view text, const std::string& path);

// Whether the file looks like JSON rather than like an ONNX model: its first character that is not
// blank is '{'. Throws Error when it cannot be read.
bool IsJsonFile(const std::string& path);

}  // namespace dlcost
