#pragma once

#include "models/gradients/writer.h"

namespace dlcost {

// A DFT of `x` over an axis, whole or (`onesided`, of real numbers) half; its axis became an input
// in opset 20.
TensorId WriteTransform(NodeWriter& writer, TensorId x, std::int64_t axis, bool onesided,
                        bool inverse);

}  // namespace dlcost
