#pragma once

#include <cstdint>
#include <vector>

#include "models/operators/op_context.h"

namespace dlcost {

// The sliding window of convolutions and poolings over the spatial axes of an [N, C, d1, d2, ...]
// tensor.
struct Window {
  std::vector<std::int64_t> in, out, kernel, stride, dilation, pad_begin, pad_end;

  // Product of the kernel extents.
  Count KernelElements() const;
  // Sum over output positions of the kernel elements that fall on data instead of padding.
  // Separable: the product over the axes of the sum over that axis.
  Count ValidTaps() const;
};

// Where a transposed convolution puts its padding: pads and output extents of attribute pads,
// auto_pad, output_padding or output_shape (ONNX ConvTranspose). The result is the window of the
// forward convolution whose gradient it is: `in` is the output, `out` the input of the operator.
// `pads`, where given, stand in for the attribute.
Window TransposedWindow(const OpContext& ctx, std::vector<std::int64_t> kernel,
                        const std::vector<std::int64_t>* pads = nullptr);

// The same as ForwardWindow for given extents `in`.
Window WindowOver(const OpContext& ctx, std::vector<std::int64_t> in,
                  std::vector<std::int64_t> kernel, bool ceil_mode = false);

// Reads strides, dilations, pads and auto_pad with their defaults and computes the output extents
// (ONNX Conv, MaxPool, AveragePool: floor, or ceil when `ceil_mode`; SAME_UPPER/SAME_LOWER give
// ceil(in / stride)). `kernel` has one extent per spatial axis of input 0.
Window ForwardWindow(const OpContext& ctx, std::vector<std::int64_t> kernel,
                     bool ceil_mode = false);

}  // namespace dlcost
