#pragma once

#include <string>
#include <vector>

#include "estimator/report/html.h"

namespace dlcost {

// The page of reports that are looked at together: what is other in each than in the first one is
// told in the words of a diff. Without a `title`: "dlcost: resnet50.onnx on a100-sxm4-80gb and
// h100-sxm5".
std::string PageOf(std::vector<HtmlReport> reports, std::string title = "");

}  // namespace dlcost
