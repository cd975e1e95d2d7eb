#pragma once

#include "models/operators/op_context.h"
#include "models/operators/op_cost.h"

namespace dlcost {

// A batch of matrix products, with the shape of the result.
struct Product {
  Shape out;
  Count batch = 1, m, n, k;
};

// numpy.matmul: 1-D operands are a row or a column whose axis is dropped again, leading axes
// broadcast. A right operand without batch is one product with all rows of the left one. Throws
// Error when the contracted extents differ.
Product MatrixProduct(const Shape& a, const Shape& b);

// Adds the MACs of `product`, in the type of input `a`, and its loop nest.
void AddProduct(OpCost& cost, const OpContext& ctx, const Product& product, int a, int b);

}  // namespace dlcost
