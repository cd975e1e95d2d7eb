#pragma once

#include <string_view>

#include "estimator/profiles/kernel_name.h"

namespace dlcost {

// The family of kernels that an operator runs: an ONNX operator type ("Conv"), or the name of a
// call of PyTorch ("aten::conv2d") or TensorFlow ("Conv2D"). An operator without a rule is
// elementwise when it is ONNX's (most are), unknown otherwise.
KernelFamily FamilyOfOnnxOp(std::string_view op);
KernelFamily FamilyOfCall(std::string_view call);

}  // namespace dlcost
