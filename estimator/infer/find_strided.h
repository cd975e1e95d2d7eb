#pragma once

#include <vector>

#include "estimator/infer/value_graph.h"

namespace dlcost {

struct Strided {
  // Per node, whether it moves nothing.
  std::vector<bool> views;
  // Per node, whether its kernel finds the place of each element by itself: copies of what lies
  // otherwise or in another type, functions of operands that are stretched or lie in another order
  // than the result. Where all lie alike, a kernel takes several elements at once.
  // Source: PyTorch, aten/src/ATen/native/cuda/CUDALoops.cuh: gpu_kernel_impl_nocast.
  std::vector<bool> placed;
  // Per node, whether of a placed one an operand's elements lie in sectors of memory of their own
  // that lie next to each other in the result.
  std::vector<bool> scattered;
  // Per node, whether its result is filled with one number first, before data are copied into it.
  // Source: PyTorch, aten/src/ATen/native/PadNd.cpp: constant_pad_nd.
  std::vector<bool> filled;
  // Per node, whether it is a convolution, pooling or normalization of an image whose channels lie
  // one after the other, which writes its result so.
  std::vector<bool> channels_last;
};

// What a framework that describes tensors by strides, as PyTorch does, moves and how. Views are
// transpositions, slices, splits, rows that a stored index selects, and, where `broadcasts`,
// expansions. Whoever reads such a view as it lies needs no copy: elementwise kernels, matrix
// products of which BLAS can describe the operands, gathers, concatenations. What others read, or
// a reshape finds no strides for, is copied: by the nearest such node before them, which then
// moves its data. Of a graph that looks through nothing yet; linear in its nodes.
// Source: PyTorch, aten/src/ATen/native/TensorShape.cpp (views), LinearAlgebra.cpp (matmul).
// What was given to the model, and leaves it viewed otherwise, is copied where `outputs_dense`.
Strided FindStrided(const ValueGraph& values, bool broadcasts, bool outputs_dense);

// Whether a framework with strides is asked for a view by this operator, which is then looked at or
// copied. Rows that an index selects are views by their index, not by their operator.
bool AsksForView(const Node& node);

}  // namespace dlcost
