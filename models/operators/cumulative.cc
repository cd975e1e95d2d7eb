#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"
#include "models/operators/value_ops.h"

namespace dlcost {
namespace {

void InferCumulative(OpContext& ctx) {
  InferSameAsInput(ctx);
  if (ctx.InputValue(1) != nullptr) NormalizeAxis(ScalarInput(ctx, 1), ctx.InputShape(0).rank());
}

template <typename T, typename Combine>
std::vector<T> Accumulate(const OpContext& ctx, const std::vector<T>& x, T neutral,
                          Combine combine) {
  const Shape& shape = ctx.InputShape(0);
  const std::size_t axis = NormalizeAxis(ScalarInput(ctx, 1), shape.rank());
  const auto extent = static_cast<std::size_t>(shape[axis]);
  const auto inner = static_cast<std::size_t>(shape.Product(axis + 1, shape.rank()).value());
  const bool exclusive = ctx.Int("exclusive", 0) != 0;
  const bool reverse = ctx.Int("reverse", 0) != 0;
  std::vector<T> y(x.size());
  for (std::size_t start = 0; start < x.size(); ++start) {
    if (start / inner % extent != 0) continue;  // not the first of its row
    T sum = neutral;
    for (std::size_t step = 0; step < extent; ++step) {
      const std::size_t i = start + (reverse ? extent - 1 - step : step) * inner;
      const T next = combine(sum, x[i]);
      y[i] = exclusive ? sum : next;
      sum = next;
    }
  }
  return y;
}

void CumSumValues(OpContext& ctx) {
  const Value* x = ctx.InputValue(0);
  if (x == nullptr || ctx.InputValue(1) == nullptr) return;
  if (x->is_integer()) {
    SetInts(ctx, 0, Accumulate<std::int64_t>(ctx, x->ints(), 0, WrapAdd));
  } else {
    SetReals(ctx, 0, Accumulate<double>(ctx, x->reals(), 0, std::plus<>()));
  }
}

void CumProdValues(OpContext& ctx) {
  const Value* x = ctx.InputValue(0);
  if (x == nullptr || ctx.InputValue(1) == nullptr) return;
  if (x->is_integer()) {
    SetInts(ctx, 0, Accumulate<std::int64_t>(ctx, x->ints(), 1, WrapMul));
  } else {
    SetReals(ctx, 0, Accumulate<double>(ctx, x->reals(), 1, std::multiplies<>()));
  }
}

// A row of n needs n - 1 operations, one less when it leaves out its last element.
OpCost CostCumulative(const OpContext& ctx, OpClass op_class) {
  OpCost cost = StreamFirst(ctx, 1);
  const Shape& shape = ctx.InputShape(0);
  if (shape.Elements() == Count(0)) return cost;
  const std::int64_t unused = ctx.Int("exclusive", 0) != 0 ? 2 : 1;
  if (ctx.InputValue(1) == nullptr) {
    cost.work.Add(op_class, ctx.InputType(0), shape.Elements());
    cost.note = "the axis is computed at run time; counted as 1 operation per element";
    return cost;
  }
  const std::int64_t extent = shape.At(ScalarInput(ctx, 1));
  const Count rows = shape.Elements() / Count(extent);
  cost.work.Add(op_class, ctx.InputType(0),
                rows * Count(std::max<std::int64_t>(0, extent - unused)));
  cost.nest = ReduceNest{rows, extent};
  return cost;
}

OpCost CostCumSum(const OpContext& ctx) { return CostCumulative(ctx, OpClass::kAdd); }
OpCost CostCumProd(const OpContext& ctx) { return CostCumulative(ctx, OpClass::kMul); }

constexpr OpCase kCumSumCases[] = {
    {.what = "rows of 5: 4 adds each",
     .inputs = "f32[3,5] i64[]{1}",
     .outputs = "f32[3,5]",
     .flops = 12,
     .bytes_read = 60,
     .bytes_written = 60},
    {.what = "a known value, exclusive and from the back",
     .attributes = "exclusive=1 reverse=1",
     .inputs = "i64[3]{1,2,3} i64[]{0}",
     .outputs = "i64[3]{5,3,0}",
     .bytes_read = 24,
     .bytes_written = 24},
};

constexpr OpCase kCumProdCases[] = {{.what = "a known value",
                                     .inputs = "f32[3]{1,2,3} i64[]{0}",
                                     .outputs = "f32[3]{1,2,6}",
                                     .flops = 2,
                                     .bytes_read = 12,
                                     .bytes_written = 12}};

constexpr OpDef kCumulativeOps[] = {
    {.name = "CumSum",
     .since = {11, 14},
     .formula = "adds = rows * (n - 1) for rows of n; n - 2 when exclusive",
     .infer = InferCumulative,
     .values = CumSumValues,
     .cost = CostCumSum,
     .role = FusionRole::kReduction,
     .cases = kCumSumCases},
    {.name = "CumProd",
     .since = {26},
     .formula = "mul = rows * (n - 1) for rows of n; n - 2 when exclusive",
     .infer = InferCumulative,
     .values = CumProdValues,
     .cost = CostCumProd,
     .role = FusionRole::kReduction,
     .cases = kCumProdCases},
};

}  // namespace

std::span<const OpDef> CumulativeOps() { return kCumulativeOps; }

}  // namespace dlcost
