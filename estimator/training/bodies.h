#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/infer/infer.h"

namespace dlcost {

// Gives the graphs inside control flow of `graph`, an editable copy of the model that `forward` was
// inferred from, what a derivative asks for: copies of their own with types, where all runs of a
// graph have the same ones; no branches where only one of two ran; and stored tensors outside, so
// that they are parameters like all others. Returns the names, as `forward` counts them, of the
// nodes whose branch took their place.
std::set<std::string> PrepareBodies(Graph& graph, const InferredModel& forward);

// The attribute of a node, or null.
Attribute* FindOwn(Node& node, std::string_view name);
// A graph that a node holds, whose outputs have types; throws Unresolved where they have none.
const Graph& TypedBody(Node& node, std::string_view name);
void SetBody(Node& node, std::string_view name, Graph body);
bool IsReal(const Graph& graph, TensorId id);
// What a graph captures that wants a gradient.
std::vector<Capture> ActiveCaptures(const Graph& body,
                                    const std::function<bool(TensorId)>& is_active);

// Calls visit(std::shared_ptr<Graph>&) for the graphs that a node holds.
template <typename Visit>
void ForEachBody(Node& node, Visit visit) {
  for (Attribute& attribute : node.attributes) {
    if (auto* graph = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) {
      visit(*graph);
    } else if (auto* graphs = std::get_if<std::vector<std::shared_ptr<Graph>>>(&attribute.value)) {
      for (std::shared_ptr<Graph>& each : *graphs) visit(each);
    }
  }
}

// Gives a node graphs of its own, with what they capture replaced by replace(TensorId).
template <typename Replace>
void ReplaceCaptures(Node& node, Replace replace) {
  ForEachBody(node, [&](std::shared_ptr<Graph>& body) {
    body = std::make_shared<Graph>(*body);
    for (Capture& capture : body->captures) capture.outer = replace(capture.outer);
  });
}

}  // namespace dlcost
