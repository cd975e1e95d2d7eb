#include "estimator/report/scope.h"

namespace dlcost {

std::string_view ScopeAtDepth(std::string_view scope, std::size_t depth) {
  if (scope.empty()) return "(no module)";
  std::size_t end = std::string_view::npos;
  for (std::size_t i = 0; i < depth; ++i) {
    end = scope.find('/', i == 0 ? 0 : end + 1);
    if (end == std::string_view::npos) break;
  }
  return scope.substr(0, end);
}

}  // namespace dlcost
