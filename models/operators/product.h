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

// Adds the MACs of `product` and its loop nest. MACs are in `type`, by default that of input `a`.
void AddProduct(OpCost& cost, const OpContext& ctx, const Product& product, int a, int b,
                DType type = DType::kUndefined);

// Gemm: alpha * A' B' + beta * C with attributes transA, transB; the output is of type `type`.
Product GemmProduct(const OpContext& ctx, int a = 0, int b = 1);
void InferGemmAs(OpContext& ctx, DType type);
// MACs, and 1 multiplication per output for alpha, 1 per element of C for beta, 1 addition per
// output for C.
void AddGemm(OpCost& cost, const OpContext& ctx);

}  // namespace dlcost
