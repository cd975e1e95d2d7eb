#include <algorithm>
#include <bit>
#include <map>

#include "estimator/core/error.h"
#include "estimator/graph/value_integer.h"
#include "models/operators/common.h"
#include "models/operators/families.h"
#include "models/operators/value_ops.h"

namespace dlcost {
namespace {

// Operators whose output size is in the data: exact where the data is known, an upper bound, marked
// as such, elsewhere.

std::vector<std::int64_t> NonZeroPositions(const Value& value) {
  std::vector<std::int64_t> positions;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value.Real(i) != 0) positions.push_back(static_cast<std::int64_t>(i));
  }
  return positions;
}

// [rank, n]: one column of coordinates per element that is not 0.
void InferNonZero(OpContext& ctx) {
  ctx.SetOutputType(0, DType::kInt64);
  const Shape& x = ctx.InputShape(0);
  const Value* value = ctx.InputValue(0);
  const std::int64_t columns = value != nullptr
                                   ? static_cast<std::int64_t>(NonZeroPositions(*value).size())
                                   : x.Elements().value();
  ctx.SetOutput(0, DType::kInt64, Shape{x.Rank(), columns});
  if (value == nullptr && columns > 0) ctx.MarkUpperBound(0);
}

void NonZeroValues(OpContext& ctx) {
  const Value* value = ctx.InputValue(0);
  if (value == nullptr) return;
  const Shape& x = ctx.InputShape(0);
  const std::vector<std::int64_t> strides = RowMajorStrides(x);
  const std::vector<std::int64_t> positions = NonZeroPositions(*value);
  std::vector<std::int64_t> rows;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    for (const std::int64_t at : positions) rows.push_back(at / strides[axis] % x[axis]);
  }
  SetInts(ctx, 0, std::move(rows));
}

OpCost CostNonZero(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  cost.work.Add(OpClass::kCompare, ctx.InputType(0), ctx.InputShape(0).Elements());
  return cost;
}

// The slices (or, without an axis, the elements) where the condition holds. A condition shorter
// than the axis leaves the rest out.
void InferCompress(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  RequireRank(ctx, 1, 1);
  const Shape& x = ctx.InputShape(0);
  const bool flat = !ctx.HasAttribute("axis");
  const std::size_t axis = flat ? 0 : NormalizeAxis(ctx.Int("axis", 0), x.rank());
  const std::int64_t extent = flat ? x.Elements().value() : x[axis];
  const Value* condition = ctx.InputValue(1);
  std::int64_t taken = std::min(extent, ctx.InputDim(1, 0));
  if (condition != nullptr) {
    // Conditions behind the last slice select nothing.
    const std::vector<std::int64_t> positions = NonZeroPositions(*condition);
    taken = std::count_if(positions.begin(), positions.end(),
                          [&](std::int64_t position) { return position < extent; });
  }
  Shape y = flat ? Shape{taken} : x;
  y[axis] = taken;
  ctx.SetOutput(0, ctx.InputType(0), std::move(y));
  if (condition == nullptr && taken > 0) ctx.MarkUpperBound(0);
}

void CompressValues(OpContext& ctx) {
  if (ctx.InputValue(0) == nullptr || ctx.InputValue(1) == nullptr) return;
  const bool flat = !ctx.HasAttribute("axis");
  const Shape x = flat ? Shape{ctx.InputShape(0).Elements().value()} : ctx.InputShape(0);
  const std::size_t axis = flat ? 0 : NormalizeAxis(ctx.Int("axis", 0), x.rank());
  const Value& condition = *ctx.InputValue(1);
  Indices indices;
  std::size_t position = 0;
  ForEachElement(x, [&](const std::vector<std::int64_t>& at) {
    const auto slice = static_cast<std::size_t>(at[axis]);
    if (slice < condition.size() && condition.Real(slice) != 0) indices.push_back(position);
    ++position;
  });
  SetTaken(ctx, indices);
}

OpCost CostCompress(const OpContext& ctx) {
  OpCost cost;
  AddPartialRead(cost, ctx, 0, ctx.OutputShape(0).Elements(), AccessKind::kGather);
  AddRead(cost, ctx, 1);
  AddWrite(cost, ctx, 0);
  return cost;
}

// Elements in order, each with the position of its first and last occurrence: only for flat
// integers.
struct Distinct {
  std::vector<std::int64_t> values, first, inverse, counts;
};

std::optional<Distinct> DistinctOf(const OpContext& ctx) {
  const Value* value = ctx.InputValue(0);
  const bool flat = !ctx.HasAttribute("axis") || ctx.InputRank(0) == 1;
  if (value == nullptr || !value->is_integer() || !flat) return std::nullopt;
  std::map<std::int64_t, std::int64_t> first_at;
  for (std::size_t i = 0; i < value->size(); ++i) {
    first_at.emplace(value->ints()[i], static_cast<std::int64_t>(i));
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> order(first_at.begin(), first_at.end());
  if (ctx.Int("sorted", 1) == 0) {
    std::sort(order.begin(), order.end(), [](auto a, auto b) { return a.second < b.second; });
  }
  Distinct distinct;
  std::map<std::int64_t, std::int64_t> rank;
  for (const auto& [element, first] : order) {
    rank[element] = static_cast<std::int64_t>(distinct.values.size());
    distinct.values.push_back(element);
    distinct.first.push_back(first);
  }
  distinct.counts.assign(distinct.values.size(), 0);
  for (const std::int64_t element : value->ints()) {
    distinct.inverse.push_back(rank[element]);
    ++distinct.counts[static_cast<std::size_t>(rank[element])];
  }
  return distinct;
}

void InferUnique(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  for (int i = 1; i < 4; ++i) ctx.SetOutputType(i, DType::kInt64);
  const Shape& x = ctx.InputShape(0);
  const bool flat = !ctx.HasAttribute("axis");
  const std::size_t axis = flat ? 0 : NormalizeAxis(ctx.Int("axis", 0), x.rank());
  const std::int64_t extent = flat ? x.Elements().value() : x[axis];
  const auto distinct = DistinctOf(ctx);
  const std::int64_t found = distinct ? static_cast<std::int64_t>(distinct->values.size()) : extent;
  Shape y = flat ? Shape{found} : x;
  y[axis] = found;
  ctx.SetOutput(0, ctx.InputType(0), std::move(y));
  ctx.SetOutput(1, DType::kInt64, Shape{found});
  ctx.SetOutput(2, DType::kInt64, Shape{extent});
  ctx.SetOutput(3, DType::kInt64, Shape{found});
  if (!distinct && extent > 1) {
    for (const int i : {0, 1, 3}) ctx.MarkUpperBound(i);
  }
}

void UniqueValues(OpContext& ctx) {
  auto distinct = DistinctOf(ctx);
  if (!distinct) return;
  SetInts(ctx, 0, std::move(distinct->values));
  SetInts(ctx, 1, std::move(distinct->first));
  SetInts(ctx, 2, std::move(distinct->inverse));
  SetInts(ctx, 3, std::move(distinct->counts));
}

// A sort of n slices: n * ceil(log2 n) comparisons of slices, each of as many elements as a slice
// has, at worst.
OpCost CostUnique(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Shape& x = ctx.InputShape(0);
  const Count elements = x.Elements();
  if (elements == Count(0)) return cost;
  const std::int64_t slices =
      ctx.HasAttribute("axis") ? x.At(ctx.Int("axis", 0)) : elements.value();
  const int depth = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(slices - 1)));
  cost.work.Add(OpClass::kCompare, ctx.InputType(0), elements * Count(depth));
  return cost;
}

// ONNX Runtime's first one: numbers of a vector to those that differ, where each went, and how
// often each came.
void InferVectorUnique(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  for (const int i : {1, 2}) ctx.SetOutputType(i, DType::kInt64);
  RequireRank(ctx, 0, 1);
  const std::int64_t extent = ctx.InputDim(0, 0);
  ctx.SetOutput(0, ctx.InputType(0), Shape{extent});
  ctx.SetOutput(1, DType::kInt64, Shape{extent});
  ctx.SetOutput(2, DType::kInt64, Shape{extent});
  if (extent <= 1) return;
  for (const int i : {0, 2}) ctx.MarkUpperBound(i);
}

// A new axis of `depth` with values[1] at the index and values[0] elsewhere.
void InferOneHot(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(2));
  ctx.InputReals(1);  // throws Unresolved where it is computed at run time
  const Value& given = *ctx.InputValue(1);
  const auto depth = given.size() == 1 ? IntegerAt(given, 0) : std::nullopt;
  if (!depth || *depth < 0) throw Error("depth is no size");
  std::vector<std::int64_t> dims = ctx.InputShape(0).dims();
  const std::size_t axis = NormalizeAxis(ctx.Int("axis", -1), dims.size(), true);
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), *depth);
  ctx.SetOutput(0, ctx.InputType(2), Shape(std::move(dims)));
}

void OneHotValues(OpContext& ctx) {
  const Value* indices = ctx.InputValue(0);
  const Value* values = ctx.InputValue(2);
  if (indices == nullptr || values == nullptr || values->size() != 2) return;
  const Shape& y = ctx.OutputShape(0);
  const std::size_t axis = NormalizeAxis(ctx.Int("axis", -1), ctx.InputShape(0).rank(), true);
  const std::vector<std::int64_t> strides = RowMajorStrides(ctx.InputShape(0));
  std::vector<double> reals;
  ForEachElement(y, [&](const std::vector<std::int64_t>& at) {
    std::int64_t flat = 0;
    for (std::size_t i = 0, from = 0; i < at.size(); ++i) {
      if (i != axis) flat += at[i] * strides[from++];
    }
    double index = indices->Real(static_cast<std::size_t>(flat));
    if (index < 0) index += static_cast<double>(y[axis]);
    reals.push_back(values->Real(index == static_cast<double>(at[axis]) ? 1 : 0));
  });
  SetReals(ctx, 0, std::move(reals));
}

OpCost CostOneHot(const OpContext& ctx) {
  OpCost cost;
  AddRead(cost, ctx, 0);
  AddRead(cost, ctx, 2);
  AddWrite(cost, ctx, 0);
  cost.work.Add(OpClass::kCompare, ctx.InputType(0), ctx.OutputShape(0).Elements());
  return cost;
}

constexpr OpCase kNonZeroCases[] = {
    {.what = "a known value: exact",
     .inputs = "i64[2,2]{1,0,1,1}",
     .outputs = "i64[2,3]{0,1,1,0,0,1}",
     .flops = 4,
     .bytes_read = 32,
     .bytes_written = 48},
    {.what = "computed at run time: at most every element",
     .inputs = "f32[2,3]",
     .outputs = "i64[2,6]",
     .flops = 6,
     .bytes_read = 24,
     .bytes_written = 96},
};
constexpr OpCase kCompressCases[] = {
    {.what = "rows that a known condition keeps",
     .attributes = "axis=0",
     .inputs = "i64[3,2]{1,2,3,4,5,6} bool[3]{0,1,1}",
     .outputs = "i64[2,2]{3,4,5,6}",
     .bytes_read = 35,
     .bytes_written = 32},
    {.what = "a condition longer than the axis",
     .attributes = "axis=1",
     .inputs = "f32[3,2] bool[3]{0,1,1}",
     .outputs = "f32[3,1]",
     .bytes_read = 15,
     .bytes_written = 12},
    {.what = "without an axis, of the flattened input: at most all",
     .inputs = "f32[3,2] bool[5]",
     .outputs = "f32[5]",
     .bytes_read = 25,
     .bytes_written = 20},
};
constexpr OpCase kUniqueCases[] = {
    {.what = "known values: 6 * ceil(log2 6) = 18 comparisons",
     .attributes = "sorted=0",
     .inputs = "i64[6]{2,1,1,3,4,3}",
     .outputs = "i64[4]{2,1,3,4} i64[4]{0,1,3,4} i64[6]{0,1,1,2,3,2} i64[4]{1,2,2,1}",
     .flops = 18,
     .bytes_read = 48,
     .bytes_written = 144},
    {.what = "computed at run time: at most every row",
     .attributes = "axis=0",
     .inputs = "f32[4,3]",
     .outputs = "f32[4,3]",
     .flops = 24,
     .bytes_read = 48,
     .bytes_written = 48},
};
constexpr OpCase kVectorUniqueCases[] = {{.what = "at most all 8: 8 * 3 comparisons",
                                          .inputs = "f32[8]",
                                          .outputs = "f32[8] i64[8] i64[8]",
                                          .flops = 24,
                                          .bytes_read = 32,
                                          .bytes_written = 32 + 128}};
constexpr OpCase kOneHotCases[] = {{.what = "a known value",
                                    .inputs = "i64[2]{1,-1} i64[]{3} i64[2]{0,1}",
                                    .outputs = "i64[2,3]{0,1,0,0,0,1}",
                                    .flops = 6,
                                    .bytes_read = 32,
                                    .bytes_written = 48}};

constexpr OpDef kDynamicOps[] = {
    {.name = "NonZero",
     .since = {9, 13},
     .formula = "compares = inputs; output at most [rank, inputs], exact where the data is known",
     .infer = InferNonZero,
     .values = NonZeroValues,
     .cost = CostNonZero,
     .cases = kNonZeroCases},
    {.name = "Compress",
     .since = {9, 11, 28},
     .formula = "no arithmetic; output at most the condition's length, exact where it is known",
     .infer = InferCompress,
     .values = CompressValues,
     .cost = CostCompress,
     .role = FusionRole::kMovement,
     .cases = kCompressCases},
    {.name = "Unique",
     .since = {11, 28},
     .formula = "compares = inputs * ceil(log2 n) to sort n slices; output at most n slices",
     .infer = InferUnique,
     .values = UniqueValues,
     .cost = CostUnique,
     .cases = kUniqueCases},
    {.name = "Unique",
     .domain = "com.microsoft",
     .formula = "compares = n * ceil(log2 n) to sort; output at most n",
     .infer = InferVectorUnique,
     .cost = CostUnique,
     .cases = kVectorUniqueCases},
    {.name = "OneHot",
     .since = {9, 11, 28},
     .formula = "compares = outputs",
     .infer = InferOneHot,
     .values = OneHotValues,
     .cost = CostOneHot,
     .role = FusionRole::kElementwise,
     .cases = kOneHotCases},
};

}  // namespace

std::span<const OpDef> DynamicOps() { return kDynamicOps; }

}  // namespace dlcost
