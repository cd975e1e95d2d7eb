#pragma once

#include <string_view>

#include "estimator/profiles/kernel_name.h"
#include "estimator/report/report.h"

namespace dlcost {

// The family of kernels that runs a predicted kernel: its loop nest says which product it is, the
// family that its operator is defined in says the rest ("Softmax" stands among the softmaxes).
// Elementwise for operators whose definition says no more than that.
KernelFamily FamilyOf(const Report& report, const KernelRow& kernel);

// The family of a framework's call: PyTorch's ("aten::conv2d") or TensorFlow's ("Conv2D"). Unknown
// for a call without a rule.
KernelFamily FamilyOfCall(std::string_view call);

// The family that a label of a layer begins with, as people write it: "conv (pool1, 64, 192, 5)",
// "affine 4096", "Max pooling". What stands behind the first word, or in parentheses, are inputs
// and sizes. Unknown where the first word says nothing.
KernelFamily FamilyOfLabel(std::string_view label);

// Convolution, matrix product, attention or recurrence.
bool IsProduct(KernelFamily family);

}  // namespace dlcost
