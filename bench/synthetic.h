#pragma once

#include <cstdint>
#include <string>

namespace dlcost::bench {

// A serialized ONNX model: a chain of `nodes` nodes, MatMul, Add and Relu in turn, on [batch,64].
std::string Chain(std::int64_t nodes);

// A reference network (models/networks) whose weights lie in the file, as exporters write them:
// every ConstantOfShape becomes an initializer with a payload of zeros.
std::string WithStoredWeights(const std::string& network);

}  // namespace dlcost::bench
