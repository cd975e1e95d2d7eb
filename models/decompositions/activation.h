#pragma once

#include <string_view>
#include <vector>

#include "models/gradients/writer.h"

namespace dlcost {

// Attributes of an activation that another operator runs.
inline constexpr std::string_view kActivation[] = {"activation"};

// The activation that an attribute names, in any case of letters ("Relu", "silu"; "" and "none" are
// x itself), with the parameters that go with it: LeakyRelu's slope, the limits of Clip, alpha and
// beta of HardSigmoid and ScaledTanh; the operator's own where there are fewer. Throws Unresolved
// for a name that no rule knows.
TensorId Activate(NodeWriter& writer, TensorId x, std::string_view name,
                  const std::vector<double>& parameters = {});

}  // namespace dlcost
