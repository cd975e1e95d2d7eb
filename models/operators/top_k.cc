#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"
#include "models/operators/value_ops.h"

namespace dlcost {
namespace {

struct Rows {
  std::size_t axis;
  std::int64_t extent, inner;
};

Rows RowsAlong(const OpContext& ctx, std::int64_t default_axis) {
  const Shape& x = ctx.InputShape(0);
  const std::size_t axis = NormalizeAxis(ctx.Int("axis", default_axis), x.rank());
  return {axis, x[axis], x.Product(axis + 1, x.rank()).value()};
}

// Calls visit(flat indices of one row, in order) for every row along the axis.
template <typename Visitor>
void ForEachRow(const Shape& shape, const Rows& rows, Visitor visit) {
  const std::int64_t outer = shape.Product(0, rows.axis).value();
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < rows.inner; ++i) {
      Indices row;
      for (std::int64_t e = 0; e < rows.extent; ++e) {
        row.push_back(static_cast<std::size_t>((o * rows.extent + e) * rows.inner + i));
      }
      visit(row, o, i);
    }
  }
}

void InferArg(OpContext& ctx) {
  ctx.SetOutputType(0, DType::kInt64);
  const Shape& x = ctx.InputShape(0);
  const Rows rows = RowsAlong(ctx, 0);
  if (rows.extent == 0) throw Error("there is no extreme of an empty axis of {}", ToString(x));
  Shape y;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (axis != rows.axis) {
      y.Append(x[axis]);
    } else if (ctx.Int("keepdims", 1) != 0) {
      y.Append(1);
    }
  }
  ctx.SetOutput(0, DType::kInt64, std::move(y));
}

// Integers as they are: doubles do not tell large ones apart.
bool Below(const Value& value, std::size_t a, std::size_t b) {
  return value.is_integer() ? value.ints()[a] < value.ints()[b]
                            : value.reals()[a] < value.reals()[b];
}

// Whether an element is not a number: then nothing says which one is the extreme.
bool Unordered(const Value& value) {
  return !value.is_integer() &&
         std::any_of(value.reals().begin(), value.reals().end(), [](double x) { return x != x; });
}

void ArgValues(OpContext& ctx) {
  const Value* x = ctx.InputValue(0);
  if (x == nullptr || Unordered(*x)) return;
  const bool largest = ctx.op() == "ArgMax";
  const bool last = ctx.opset() >= 12 && ctx.Int("select_last_index", 0) != 0;
  std::vector<std::int64_t> winners;
  ForEachRow(ctx.InputShape(0), RowsAlong(ctx, 0), [&](const Indices& row, auto, auto) {
    std::size_t best = 0;
    for (std::size_t e = 1; e < row.size(); ++e) {
      const bool below = Below(*x, row[e], row[best]), above = Below(*x, row[best], row[e]);
      if (largest ? above : below) best = e;
      if (last && !below && !above) best = e;
    }
    winners.push_back(static_cast<std::int64_t>(best));
  });
  SetInts(ctx, 0, std::move(winners));
}

OpCost CostArg(const OpContext& ctx) {
  OpCost cost = StreamFirst(ctx, 1);
  const Count results = ctx.OutputShape(0).Elements();
  const Count elements = ctx.InputShape(0).Elements();
  cost.work.Add(OpClass::kCompare, ctx.InputType(0), elements - results);
  if (results > Count(0)) cost.nest = ReduceNest{results, elements / results};
  return cost;
}

// k is an attribute before opset 10, an input since.
std::int64_t K(const OpContext& ctx) {
  return ctx.opset() < 10 ? ctx.RequiredInt("k") : ScalarInput(ctx, 1);
}

void InferTopK(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutputType(1, DType::kInt64);
  Shape y = ctx.InputShape(0);
  const Rows rows = RowsAlong(ctx, -1);
  const std::int64_t k = K(ctx);
  if (k < 0 || k > rows.extent) {
    throw Error("k is {} on an axis of {}", k, rows.extent);
  }
  y[rows.axis] = k;
  ctx.SetOutput(0, ctx.InputType(0), y);
  ctx.SetOutput(1, DType::kInt64, y);
}

void TopKValues(OpContext& ctx) {
  const Value* x = ctx.InputValue(0);
  if (x == nullptr) return;
  if (!x->is_integer() && std::any_of(x->reals().begin(), x->reals().end(),
                                      [](double real) { return std::isnan(real); })) {
    return;  // where NaN sorts is not specified
  }
  if (ctx.Int("sorted", 1) == 0) return;  // in any order
  const auto k = static_cast<std::size_t>(K(ctx));
  const bool largest = ctx.opset() < 11 || ctx.Int("largest", 1) != 0;
  const Rows rows = RowsAlong(ctx, -1);
  const auto results = static_cast<std::size_t>(
      (ctx.InputShape(0).Elements() / Count(std::max<std::int64_t>(1, rows.extent)) *
       Count(static_cast<std::int64_t>(k)))
          .value());
  Indices picks(results);
  std::vector<std::int64_t> positions(results);
  ForEachRow(ctx.InputShape(0), rows, [&](Indices row, std::int64_t outer, std::int64_t inner) {
    // Equal values keep their order. Integers are compared as such: a real does not hold them all.
    std::vector<std::size_t> order(row.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return largest ? Below(*x, row[b], row[a]) : Below(*x, row[a], row[b]);
    });
    for (std::size_t e = 0; e < k; ++e) {
      const auto to = static_cast<std::size_t>(outer * rows.inner) * k +
                      e * static_cast<std::size_t>(rows.inner) + static_cast<std::size_t>(inner);
      picks[to] = row[order[e]];
      positions[to] = static_cast<std::int64_t>(order[e]);
    }
  });
  SetTaken(ctx, picks);
  SetInts(ctx, 1, std::move(positions));
}

// A heap of k: ceil(log2 k) compares per element, at least 1.
OpCost CostTopK(const OpContext& ctx) {
  OpCost cost = StreamFirst(ctx, 1);
  const Count elements = ctx.InputShape(0).Elements();
  const std::int64_t k = K(ctx);
  if (k == 0 || elements == Count(0)) return cost;
  const int depth =
      std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(k - 1))));
  cost.work.Add(OpClass::kCompare, ctx.InputType(0), elements * Count(depth));
  const std::int64_t extent = RowsAlong(ctx, -1).extent;
  cost.nest = ReduceNest{elements / Count(extent), extent};
  return cost;
}

constexpr OpCase kArgMaxCases[] = {
    {.what = "the class of each of 4 samples",
     .attributes = "axis=1 keepdims=0",
     .inputs = "f32[4,10]",
     .outputs = "i64[4]",
     .flops = 36,
     .bytes_read = 160,
     .bytes_written = 32},
    {.what = "a known value",
     .inputs = "i64[3]{1,5,5}",
     .outputs = "i64[1]{1}",
     .flops = 2,
     .bytes_read = 24,
     .bytes_written = 8},
};
constexpr OpCase kArgMinCases[] = {{.what = "the last of equals",
                                    .attributes = "select_last_index=1",
                                    .inputs = "i64[3]{1,5,1}",
                                    .outputs = "i64[1]{2}",
                                    .flops = 2,
                                    .bytes_read = 24,
                                    .bytes_written = 8}};
constexpr OpCase kTopKCases[] = {
    {.what = "5 of 1000: ceil(log2 5) = 3 compares per element",
     .inputs = "f32[2,1000] i64[1]{5}",
     .outputs = "f32[2,5] i64[2,5]",
     .flops = 6000,
     .bytes_read = 8000,
     .bytes_written = 120},
    {.what = "known values, the smallest first",
     .attributes = "largest=0",
     .inputs = "i64[4]{3,1,4,1} i64[1]{2}",
     .outputs = "i64[2]{1,1} i64[2]{1,3}",
     .flops = 4,
     .bytes_read = 32,
     .bytes_written = 32},
    {.what = "integers that no real tells apart",
     .inputs = "i64[2]{9223372036854775806,9223372036854775807} i64[1]{1}",
     .outputs = "i64[1]{9223372036854775807} i64[1]{1}",
     .flops = 2,
     .bytes_read = 16,
     .bytes_written = 16},
    {.what = "opset 1: k is an attribute",
     .attributes = "k=1",
     .inputs = "f32[2,1000]",
     .outputs = "f32[2,1] i64[2,1]",
     .flops = 2000,
     .bytes_read = 8000,
     .bytes_written = 24,
     .opset = 1},
};

constexpr OpDef kTopKOps[] = {
    {.name = "ArgMax",
     .since = {1, 11, 12, 13},
     .formula = "compares = inputs - outputs",
     .infer = InferArg,
     .values = ArgValues,
     .cost = CostArg,
     .role = FusionRole::kReduction,
     .cases = kArgMaxCases},
    {.name = "ArgMin",
     .since = {1, 11, 12, 13},
     .formula = "compares = inputs - outputs",
     .infer = InferArg,
     .values = ArgValues,
     .cost = CostArg,
     .role = FusionRole::kReduction,
     .cases = kArgMinCases},
    {.name = "TopK",
     .since = {1, 10, 11, 24},
     .formula = "compares = inputs * max(1, ceil(log2 k)), as a heap of k does",
     .infer = InferTopK,
     .values = TopKValues,
     .cost = CostTopK,
     .role = FusionRole::kReduction,
     .cases = kTopKCases},
};

}  // namespace

std::span<const OpDef> TopKOps() { return kTopKOps; }

}  // namespace dlcost
