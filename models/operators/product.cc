#include "models/operators/product.h"

#include "estimator/core/error.h"

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

void AddProduct(OpCost& cost, const OpContext& ctx, const Product& product, int a, int b) {
  cost.work.Add(OpClass::kMac, ctx.InputType(a), product.batch * product.m * product.n * product.k);
  cost.nest = GemmNest{.batch = product.batch,
                       .m = product.m,
                       .n = product.n,
                       .k = product.k,
                       .a_input = a,
                       .b_input = b,
                       .b_is_weight = ctx.InputIsConstant(b)};
}

}  // namespace dlcost
