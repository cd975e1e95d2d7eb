#pragma once

#include <string>
#include <vector>

#include "models/gradients/writer.h"

namespace dlcost {

// What a step computes again in the backward pass instead of keeping it, as --recompute names it:
// - "none";
// - "scopes": modules that repeat, each from its inputs (a layer of a transformer, a block of a
//   residual network: the outermost part of a module path that ends with an index); "scopes:K" the
//   first K of them;
// - "full": all, in as many stretches of the forward pass as leave the least in memory (Chen et
//   al., "Training deep nets with sublinear memory cost", arXiv 1604.06174);
// - "selective:PATTERN": what nodes write whose name, module or operator matches (one of several,
//   with commas between);
//   "selective:pointwise": what all but products write. Views of it go with it.
//
// Values that the backward pass reads are dropped where the forward pass has no further use for
// them; the nodes that make them are written once more, in the phase "recompute", before their
// first reader there. The nodes of the graph are forward, loss and backward, in order. Throws Error
// for what names nothing.
void Recompute(NodeWriter& writer, const std::string& what);

// Whether "selective:PATTERN" names a node by a pattern; "selective:pointwise" names none.
bool IsSelected(const std::string& what, const Node& node);

// "encoder/layer.3" of the module path "encoder/layer.3/attention/self"; "" where no part of it has
// an index.
std::string ModuleOf(const std::string& scope);
// The modules that "scopes" recomputes, in order.
std::vector<std::string> RepeatedModules(const Graph& graph);

}  // namespace dlcost
