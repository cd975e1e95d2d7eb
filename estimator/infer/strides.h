#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace dlcost {

// Of each axis of a tensor: its size, or its stride in elements. No size is 0, and the product of
// all of them fits.
using Sizes = std::vector<std::int64_t>;

// Row after row.
Sizes ContiguousStrides(const Sizes& sizes);
// Of fresh data whose axes have the order of those of an operand; rows one after the other where
// some of its elements stand for several.
Sizes StridesInOrderOf(const Sizes& sizes, const Sizes& strides);
// Whether the tensor may be one: a batch, channels, and two or three axes in space.
bool IsImage(const Sizes& sizes);
// Of images whose channels, the second axis, lie one after the other.
Sizes ChannelsLastStrides(const Sizes& sizes);

// Whether elements lie alike: strides of dimensions of one element say nothing.
bool SameStrides(const Sizes& sizes, const Sizes& a, const Sizes& b);
// Whether elements that lie next to each other lie `least` or more apart in another layout.
bool Scatters(const Sizes& sizes, const Sizes& strides, const Sizes& other, std::int64_t least);
// Whether BLAS can describe the last two axes: by the distance of rows or of columns.
bool IsBlasMatrix(const Sizes& sizes, const Sizes& strides);

// The strides that give a tensor of `sizes` and `strides` the new sizes without moving an element;
// empty where there are none. Dimensions that lie one behind the other may be divided and joined.
// Source: PyTorch, aten/src/ATen/TensorUtils.cpp: computeStride.
std::optional<Sizes> ViewedAs(const Sizes& sizes, const Sizes& strides, const Sizes& viewed);

}  // namespace dlcost
