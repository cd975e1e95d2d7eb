#include "models/operators/product.h"

#include "estimator/core/error.h"
#include "models/operators/common.h"

namespace dlcost {
namespace {

Shape Leading(const Shape& shape, std::size_t axes) {
  return Shape(
      std::vector<std::int64_t>(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axes)));
}

}  // namespace

Product MatrixProduct(const Shape& a, const Shape& b) {
  if (a.rank() == 0 || b.rank() == 0) throw Error("a matrix product of a scalar");
  const bool row = a.rank() == 1, column = b.rank() == 1;
  const std::size_t a_batch = row ? 0 : a.rank() - 2, b_batch = column ? 0 : b.rank() - 2;
  const std::int64_t k = a[a.rank() - 1];
  const std::int64_t b_k = column ? b[0] : b[b_batch];
  if (k != b_k) {
    throw Error("the product contracts {} elements of {} with {} of {}", k, ToString(a), b_k,
                ToString(b));
  }
  Product product{.m = row ? 1 : a[a_batch], .n = column ? 1 : b[b_batch + 1], .k = k};
  const Shape a_lead = Leading(a, a_batch), b_lead = Leading(b, b_batch);
  product.out = Broadcast(a_lead, b_lead);
  product.batch = product.out.Elements();
  if (b_lead.Elements() == Count(1)) {
    product.m *= product.batch;
    product.batch = 1;
  }
  if (!row) product.out.Append(a[a_batch]);
  if (!column) product.out.Append(b[b_batch + 1]);
  return product;
}

void AddProduct(OpCost& cost, const OpContext& ctx, const Product& product, int a, int b,
                DType type) {
  if (type == DType::kUndefined) type = ctx.InputType(a);
  cost.work.Add(OpClass::kMac, type, product.batch * product.m * product.n * product.k);
  cost.nest = GemmNest{.batch = product.batch,
                       .m = product.m,
                       .n = product.n,
                       .k = product.k,
                       .a_input = a,
                       .b_input = b,
                       .b_is_weight = ctx.InputIsConstant(b)};
}

Product GemmProduct(const OpContext& ctx, int a_input, int b_input) {
  RequireRank(ctx, a_input, 2);
  RequireRank(ctx, b_input, 2);
  const Shape& a = ctx.InputShape(a_input);
  const Shape& b = ctx.InputShape(b_input);
  const std::size_t a_transposed = ctx.Int("transA", 0) != 0 ? 1 : 0;
  const std::size_t b_transposed = ctx.Int("transB", 0) != 0 ? 1 : 0;
  const std::int64_t m = a[a_transposed], k = a[1 - a_transposed];
  const std::int64_t n = b[1 - b_transposed];
  if (k != b[b_transposed]) {
    throw Error("the product contracts {} elements of A {} with {} of B {}", k, ToString(a),
                b[b_transposed], ToString(b));
  }
  return {.out = {m, n}, .batch = 1, .m = m, .n = n, .k = k};
}

void InferGemmAs(OpContext& ctx, DType type) {
  ctx.SetOutputType(0, type);
  Product product = GemmProduct(ctx);
  if (ctx.InputShapeKnown(2) && Broadcast(product.out, ctx.InputShape(2)) != product.out) {
    throw Error("C {} does not broadcast to the product {}", ToString(ctx.InputShape(2)),
                ToString(product.out));
  }
  ctx.SetOutput(0, type, std::move(product.out));
}

void AddGemm(OpCost& cost, const OpContext& ctx) {
  const Product product = GemmProduct(ctx);
  AddProduct(cost, ctx, product, 0, 1);
  std::get<GemmNest>(cost.nest).a_transposed = ctx.Int("transA", 0) != 0;
  const DType type = ctx.InputType(0);
  const Count outputs = product.out.Elements();
  if (ctx.Float("alpha", 1) != 1) cost.work.Add(OpClass::kMul, type, outputs);
  if (ctx.HasInput(2)) {
    if (ctx.Float("beta", 1) != 1) {
      cost.work.Add(OpClass::kMul, type, ctx.InputShape(2).Elements());
    }
    cost.work.Add(OpClass::kAdd, type, outputs);
  }
}

}  // namespace dlcost
