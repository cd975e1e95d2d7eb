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
  return last <= first ? "" : std::string(node_name.substr(first, last - first));
}

}  // namespace dlcost
