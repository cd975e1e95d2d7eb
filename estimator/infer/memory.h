#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/infer/infer.h"

namespace dlcost {

// Fills in parameters and weight_bytes: the stored tensors that the run reads, each once.
//
// A stored tensor is an initializer, the tensor of a Constant node, or what a generator
// (ConstantOfShape, Range, EyeLike) makes from constants alone. It is found by walking back from
// the operands of nodes that run through nodes that are folded. It is a parameter when it holds
// numbers to compute with: floating-point ones, and integers that are quantized numbers
// (integer_numbers.h). Scalars, indices, shapes and masks are none. Packed weights count the
// numbers that they hold (OpDef::packed). Numbers in attributes that an operator computes with
// (OpCost::held_parameters) are parameters too. What unknown nodes read, and the graphs of control
// flow that could not be followed, counts by the same rules. Bytes count at the stored width; with
// `floats_as`, floating-point ones as if stored in that type.
void CountWeights(InferredModel& model, std::optional<DType> floats_as = {});

// A note on the weights that only unknown nodes read; "" when there are none.
std::string WeightsOfUnknown(const InferredModel& model);

// The bytes that are live at the start and while each node of the main graph runs, weights not
// included. A tensor lives from the node that makes it to its last reader, graph inputs from the
// start, graph outputs to the end; a view shares its input's memory, and so does an output in place
// of an input (Access::memory_of): a growing cache. While control flow runs, the peak of one run of
// its graph comes on top of what lives around it.
std::vector<Bytes> LiveBytes(const InferredModel& model);

// The largest of those.
Bytes PeakActivations(const InferredModel& model);

// The same while each kernel runs: `kernel_of` says for every node of InferredModel::nodes which
// one it is part of, numbered in the order in which they run. All that a kernel reads and writes is
// there while it runs; what only it makes and reads has no buffer.
std::vector<Bytes> LiveBytes(const InferredModel& model, const std::vector<std::size_t>& kernel_of);

// A tensor of the main graph that has memory of its own, and the kernels while which it is there,
// both ends included: 0 is the first that runs, and the start for a graph input.
struct Buffer {
  TensorId tensor = kNoTensor;
  Bytes size;
  std::size_t from = 0, to = 0;
};

// Both: `buffers` are what makes up the bytes of `live`, in the order of the graph's tensors; what
// lives inside control flow comes on top.
struct LiveBuffers {
  std::vector<Bytes> live;
  std::vector<Buffer> buffers;
};
// `views` says of every node whether it looks at what it reads although it is no view by itself
// (estimator/infer/strides.h); empty where none does.
LiveBuffers LiveAndBuffers(const InferredModel& model, const std::vector<std::size_t>& kernel_of,
                           const std::vector<bool>& views = {});

}  // namespace dlcost
