#include "estimator/compare/node_names.h"

#include <array>

#include "estimator/profiles/text.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

constexpr const char* kNoNode = "no node of the model has this name";

// "/conv1/Conv" and "conv1/Conv" are the same to those who write ranges by hand.
std::string Plain(std::string_view name) {
  while (name.starts_with('/')) name.remove_prefix(1);
  return std::string(name);
}

// What ONNX Runtime's graph transformers put around a node's name.
std::optional<std::string> Undecorated(std::string_view name) {
  for (const std::string_view prefix : {"fused ", "Fused", "InsertedPrecisionFreeCast_"}) {
    if (name.starts_with(prefix)) return std::string(name.substr(prefix.size()));
  }
  for (const std::string_view suffix :
       {"_nchwc", "_quant", "_token_0", "_bn_fused", "_kernel_time", "/MatMulAddFusion", "_gelu"}) {
    if (name.ends_with(suffix)) return std::string(name.substr(0, name.size() - suffix.size()));
  }
  return std::nullopt;
}

}  // namespace

NodeNames::NodeNames(const Report& report) {
  std::unordered_map<std::string, std::size_t> by_id;
  for (std::size_t k = 0; k < report.kernels.size(); ++k) by_id.emplace(report.kernels[k].id, k);
  std::unordered_map<std::string, int> in_scope;
  for (const NodeRow& node : report.nodes) {
    const auto kernel = by_id.find(node.kernel);
    if (kernel == by_id.end()) continue;
    nodes_.emplace(Plain(node.name), kernel->second);
    for (const Operand& output : node.outputs) {
      if (!output.name.empty()) outputs_.emplace(Plain(output.name), kernel->second);
    }
    if (!node.scope.empty() && node.sums.macs > Macs(0)) {
      ++in_scope[Plain(node.scope)];
      scopes_.emplace(Plain(node.scope), kernel->second);
    }
  }
  // A scope names a node only where it holds a single product.
  std::erase_if(scopes_, [&](const auto& entry) { return in_scope[entry.first] > 1; });
}

std::optional<NodeNames::Match> NodeNames::Find(const std::string& name) const {
  if (name.empty()) return std::nullopt;
  std::string plain = Plain(name);
  const auto look = [&](const auto& map) -> std::optional<std::size_t> {
    const auto found = map.find(plain);
    return found == map.end() ? std::nullopt : std::optional(found->second);
  };
  if (const auto kernel = look(nodes_)) return Match{*kernel, "name", 1};
  if (const auto kernel = look(outputs_)) return Match{*kernel, "name of an output", 0.95};
  if (const auto kernel = look(scopes_)) return Match{*kernel, "name of the module", 0.9};
  for (int layers = 0; layers < 4; ++layers) {
    const auto inner = Undecorated(plain);
    if (!inner) break;
    plain = Plain(*inner);
    if (const auto kernel = look(nodes_)) return Match{*kernel, "name of a rewritten node", 0.95};
  }
  return std::nullopt;
}

std::optional<NodeNames::Match> NodeNames::Of(const MeasuredKernel& kernel) const {
  if (auto match = Find(kernel.op)) return match;
  for (auto range = kernel.scope.rbegin(); range != kernel.scope.rend(); ++range) {
    if (auto match = Find(*range)) {
      match->how += " of a range around it";
      return match;
    }
  }
  return std::nullopt;
}

bool NodeNames::IsSpelledAsNode(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string_view::npos) return false;
  std::string_view type = name.substr(slash + 1);
  if (const std::size_t end = type.find_last_not_of("0123456789");
      end != std::string_view::npos && type[end] == '_') {
    type = type.substr(0, end);
  }
  return FindOperator("", type) != nullptr;
}

bool NodeNames::MayBeInserted(const std::string& name) const { return WhyUnknown(name) != kNoNode; }

std::string NodeNames::WhyUnknown(const std::string& name) const {
  if (name.empty()) return "no range or operator around it";
  const std::string lower = Lower(name);
  if (Contains(lower, "reorder") || Contains(lower, "transpose"))
    return "layout change that the runtime inserted";
  if (Contains(lower, "memcpy")) return "copy that the runtime inserted";
  if (Contains(lower, "cast")) return "cast that the runtime inserted";
  if (Contains(lower, "fus")) return "fused by the runtime under a name of its own";
  return kNoNode;
}

}  // namespace dlcost
