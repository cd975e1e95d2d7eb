#pragma once

#include <cstdint>

#include "models/operators/op_context.h"
#include "models/operators/op_cost.h"
#include "models/operators/window.h"

namespace dlcost {

// Which input is the weight, and in which order the axes are.
struct ConvLayout {
  int weight = 1;
  bool channels_last = false;         // input 0 and the output are [N, d..., C]
  bool weight_channels_last = false;  // the weight is [M, k..., C/group]
  bool blocked = false;  // channels may be padded to a block: they are those of the weight
};

// A convolution with everything about it known: input [N, C, d...], weight [M, C/group, k...].
struct ConvShape {
  std::int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1, group_channels = 0;
  Window window;
  Shape out;
};

// Reads shapes and attributes of a forward convolution. Throws Error where they contradict each
// other.
ConvShape ForwardConv(const OpContext& ctx, const ConvLayout& layout);

// Adds the dense MACs in `type`, the valid ones and the loop nest. Bias and what is fused on top
// are the caller's.
void AddConv(OpCost& cost, const ConvShape& conv, DType type);

// The loop nests of its gradients.
ConvNest InputGradient(const ConvNest& forward);
ConvNest WeightGradient(const ConvNest& forward);

// The axes of a window, for a loop nest.
std::vector<ConvAxis> AxesOf(const Window& window);

// The kernel extents of weight input `weight`, checked against attribute kernel_shape.
std::vector<std::int64_t> KernelOf(const OpContext& ctx, int weight, bool channels_last = false);
// Attribute group, at least 1.
std::int64_t GroupsOf(const OpContext& ctx);

}  // namespace dlcost
