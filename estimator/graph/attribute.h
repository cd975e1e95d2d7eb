#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "estimator/core/dtype.h"
#include "estimator/core/shape.h"
#include "estimator/graph/value.h"

namespace dlcost {

struct Graph;

// A tensor stored in the file: an initializer or a tensor attribute. The payload is dropped; a
// small one is kept as value.
struct StoredTensor {
  DType dtype = DType::kUndefined;
  Shape shape;
  ValuePtr value;  // null unless small and numeric
  Bytes stored;    // bytes that the elements occupy (a sparse tensor: values and indices)
};

using AttributeValue =
    std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::int64_t>,
                 std::vector<double>, std::vector<std::string>, StoredTensor,
                 std::shared_ptr<Graph>, std::vector<std::shared_ptr<Graph>>>;

struct Attribute {
  std::string name;
  AttributeValue value;  // monostate: a kind that costs nothing (type protos)
};

}  // namespace dlcost
