#include "estimator/onnx/scope.h"

#include <algorithm>
#include <vector>

namespace dlcost {
namespace {

// The strings of a Python list literal: "['', 'layer1', 'layer1.0']".
std::vector<std::string_view> PythonList(std::string_view text) {
  std::vector<std::string_view> items;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char quote = text[i];
    if (quote != '\'' && quote != '"') continue;
    const std::size_t close = text.find(quote, i + 1);
    if (close == std::string_view::npos) break;
    items.push_back(text.substr(i + 1, close - i - 1));
    i = close;
  }
  return items;
}

// "features/features.3/features.3.0" to "features/3/0": PyTorch's tracing exporter calls a module
// of a list or a sequence by the list's name and its own, below a component that has said the
// former.
std::string WithoutRepeatedNames(std::string_view path) {
  std::string scope, above;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view name = path.substr(at, end - at);
    const bool repeats = !above.empty() && name.starts_with(above) && name != above;
    if (at != 0) scope += '/';
    scope += repeats ? name.substr(above.size()) : name;
    above = name.empty() ? "" : std::string(name) + ".";
    at = end + 1;
  }
  return scope;
}

}  // namespace

std::string ScopeOf(std::string_view node_name, std::string_view name_scopes) {
  const std::vector<std::string_view> scopes = PythonList(name_scopes);
  if (scopes.size() >= 2) {
    std::string scope(scopes[scopes.size() - 2]);
    // What a pass of PyTorch's export added is of no module (its _node_metadata_hook.py).
    if (scope.starts_with("_empty_nn_module_stack")) return "";
    std::replace(scope.begin(), scope.end(), '.', '/');
    return scope;
  }
  const std::size_t last = node_name.rfind('/');
  if (last == std::string_view::npos) return "";
  const std::size_t first = node_name.front() == '/' ? 1 : 0;
  return last <= first ? "" : WithoutRepeatedNames(node_name.substr(first, last - first));
}

}  // namespace dlcost
