#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "estimator/graph/graph.h"
#include "estimator/infer/run_binding.h"

namespace dlcost {

// The axis of a node's output whose size the data decides; nullopt where it cannot be told.
std::optional<std::size_t> OpenAxis(const Graph& graph, const Node& node, std::size_t output);

// Puts bindings and assumptions into effect while a model is inferred.
class RunValues {
 public:
  RunValues(const std::vector<RunBinding>& bindings, bool assume);

  // Assumptions that are not made: they contradicted the model.
  void Skip(std::set<std::string> nodes) { skipped_ = std::move(nodes); }

  // After the node's outputs were inferred as far as they could be. Throws Error for a binding that
  // contradicts what is known.
  void Apply(Graph& graph, const Node& node, const std::string& name, const std::string& prefix);
  // After the node was counted: sizes that were said are no upper bounds any more.
  void Settle(Graph& graph, const Node& node);
  // Throws Error for a binding that met no node.
  void CheckUsed(const Model& model) const;

  const std::vector<RunFact>& bound() const { return bound_; }
  const std::vector<RunFact>& assumed() const { return assumed_; }
  // Names of the nodes with an assumed output.
  const std::set<std::string>& assumed_nodes() const { return assumed_nodes_; }
  // The last one of them, "" before the first.
  const std::string& last_assumed() const { return last_assumed_; }

 private:
  const RunBinding* Find(const Node& node, const std::string& name, const std::string& prefix,
                         const Graph& graph, std::size_t output);
  void Bind(Graph& graph, const Node& node, const std::string& name, std::size_t output,
            const RunBinding& binding);
  void Assume(Graph& graph, const Node& node, const std::string& name, std::size_t output);
  void SetShape(Graph& graph, const Node& node, std::size_t output, Shape shape);

  const std::vector<RunBinding>& bindings_;
  bool assume_;
  std::map<std::string, std::size_t> exact_;  // target -> binding
  std::vector<std::size_t> patterns_;         // bindings with a wildcard
  std::vector<bool> used_;
  std::set<std::string> known_names_;  // for spelling; filled while bindings are looked for
  std::set<std::string> noted_;        // nodes in `bound_` and `assumed_`: loops meet them often
  std::vector<std::pair<const Graph*, TensorId>> settled_;
  std::set<std::string> assumed_nodes_, skipped_;
  std::string last_assumed_;
  std::vector<RunFact> bound_, assumed_;
};

}  // namespace dlcost
