#pragma once

#include "estimator/infer/infer.h"

namespace dlcost {

// A copy of an inferred model whose graph may be edited: the shapes that were bound are declared,
// so that it asks for no dimension again, and nodes are in an order in which they can run.
Model EditableCopy(const InferredModel& model);

// Puts the nodes of a graph in an order in which they can run.
void SortNodes(Graph& graph);

// Gives a tensor of an edited graph the size of a part of it; of a stored one as much of its bytes.
void BecomePart(Tensor& tensor, const Shape& part);

// Gives a tensor of an edited graph another type; a stored one takes as many bytes as that needs.
void BecomeType(Tensor& tensor, DType type);

// An edited copy, inferred and counted under the options that its `original` was inferred with.
InferredModel InferEdited(Model edited, const InferredModel& original, const InferOptions& options);

}  // namespace dlcost
