#pragma once

#include <onnx/onnx_pb.h>

#include "estimator/graph/attribute.h"

namespace dlcost {

// Type, shape and size of a stored tensor; its content when it is numeric, was kept by the skeleton
// and has at most kMaxValueElements elements. Throws Error for negative dimensions, an unknown
// type, or an element count that overflows.
StoredTensor ToStoredTensor(const onnx::TensorProto& tensor);
// A sparse tensor has the shape of its dense form and the size of its values and indices.
StoredTensor ToStoredTensor(const onnx::SparseTensorProto& tensor);

}  // namespace dlcost
