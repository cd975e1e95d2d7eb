#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"
#include "models/operators/value_ops.h"

namespace dlcost {
namespace {

// A negative index counts from the back.
std::int64_t CheckedIndex(std::int64_t index, std::int64_t extent) {
  const std::int64_t position = index < 0 ? index + extent : index;
  if (position < 0 || position >= extent) {
    throw Error("index {} is outside an axis of {}", index, extent);
  }
  return position;
}

std::size_t Axis(const OpContext& ctx) {
  return NormalizeAxis(ctx.Int("axis", 0), ctx.InputShape(0).rank());
}

void InferGather(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& x = ctx.InputShape(0);
  const std::size_t axis = Axis(ctx);
  Shape y(std::vector<std::int64_t>(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(axis)));
  for (const std::int64_t dim : ctx.InputShape(1)) y.Append(dim);
  for (std::size_t i = axis + 1; i < x.rank(); ++i) y.Append(x[i]);
  ctx.SetOutput(0, ctx.InputType(0), std::move(y));
}

void GatherValues(OpContext& ctx) {
  if (ctx.InputValue(0) == nullptr || ctx.InputValue(1) == nullptr) return;
  const Shape& x = ctx.InputShape(0);
  const std::size_t axis = Axis(ctx);
  const std::vector<std::int64_t> rows = ctx.InputInts(1);
  const std::int64_t outer = x.Product(0, axis).value();
  const std::int64_t inner = x.Product(axis + 1, x.rank()).value();
  Indices indices;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int64_t row : rows) {
      const std::int64_t start = (o * x[axis] + CheckedIndex(row, x[axis])) * inner;
      for (std::int64_t i = 0; i < inner; ++i)
        indices.push_back(static_cast<std::size_t>(start + i));
    }
  }
  SetTaken(ctx, indices);
}

// Reads the elements that it takes, at most all of them: rows that are taken twice are cached.
OpCost CostGather(const OpContext& ctx) {
  OpCost cost;
  const Count taken = std::min(ctx.OutputShape(0).Elements(), ctx.InputShape(0).Elements());
  AddPartialRead(cost, ctx, 0, taken, AccessKind::kGather);
  AddRead(cost, ctx, 1);
  AddWrite(cost, ctx, 0);
  return cost;
}

void InferGatherElements(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  Axis(ctx);
  if (ctx.InputRank(0) != ctx.InputRank(1)) {
    throw Error("data {} and indices {} differ in rank", ToString(ctx.InputShape(0)),
                ToString(ctx.InputShape(1)));
  }
  ctx.SetOutput(0, ctx.InputType(0), ctx.InputShape(1));
}

void GatherElementsValues(OpContext& ctx) {
  if (ctx.InputValue(0) == nullptr || ctx.InputValue(1) == nullptr) return;
  const Shape& x = ctx.InputShape(0);
  const std::size_t axis = Axis(ctx);
  const std::vector<std::int64_t> picks = ctx.InputInts(1);
  const std::vector<std::int64_t> strides = RowMajorStrides(x);
  Indices indices;
  ForEachElement(ctx.OutputShape(0), [&](const std::vector<std::int64_t>& at) {
    std::int64_t flat = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const std::int64_t index = i == axis ? picks[indices.size()] : at[i];
      flat += CheckedIndex(index, x[i]) * strides[i];
    }
    indices.push_back(static_cast<std::size_t>(flat));
  });
  SetTaken(ctx, indices);
}

struct NdShape {
  std::size_t batch = 0;  // leading axes that data and indices share
  std::size_t depth = 0;  // axes that an index tuple addresses
};

NdShape GatherNdShape(const OpContext& ctx) {
  const Shape& x = ctx.InputShape(0);
  const Shape& indices = ctx.InputShape(1);
  const std::int64_t batch = ctx.opset() < 12 ? 0 : ctx.Int("batch_dims", 0);
  if (indices.rank() == 0 || batch < 0 || batch >= indices.Rank() || batch > x.Rank()) {
    throw Error("indices {} with batch_dims {} do not address {}", ToString(indices), batch,
                ToString(x));
  }
  const std::int64_t depth = indices[indices.rank() - 1];
  if (depth > x.Rank() - batch) {
    throw Error("index tuples of {} do not address {} behind {} batch axes", depth, ToString(x),
                batch);
  }
  return {static_cast<std::size_t>(batch), static_cast<std::size_t>(depth)};
}

void InferGatherNd(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const NdShape nd = GatherNdShape(ctx);
  const Shape& x = ctx.InputShape(0);
  const Shape& indices = ctx.InputShape(1);
  Shape y(std::vector<std::int64_t>(indices.begin(), indices.end() - 1));
  for (std::size_t i = nd.batch + nd.depth; i < x.rank(); ++i) y.Append(x[i]);
  ctx.SetOutput(0, ctx.InputType(0), std::move(y));
}

void GatherNdValues(OpContext& ctx) {
  const NdShape nd = GatherNdShape(ctx);
  if (ctx.InputValue(0) == nullptr || ctx.InputValue(1) == nullptr || nd.batch != 0) return;
  const Shape& x = ctx.InputShape(0);
  const std::vector<std::int64_t> tuples = ctx.InputInts(1);
  const std::vector<std::int64_t> strides = RowMajorStrides(x);
  const std::int64_t inner = x.Product(nd.depth, x.rank()).value();
  const std::int64_t count = ctx.InputShape(1).Product(0, ctx.InputShape(1).rank() - 1).value();
  Indices indices;
  for (std::int64_t t = 0; t < count; ++t) {
    std::int64_t start = 0;
    for (std::size_t i = 0; i < nd.depth; ++i) {
      const std::size_t at = static_cast<std::size_t>(t) * nd.depth + i;
      start += CheckedIndex(tuples[at], x[i]) * strides[i];
    }
    for (std::int64_t i = 0; i < inner; ++i) indices.push_back(static_cast<std::size_t>(start + i));
  }
  SetTaken(ctx, indices);
}

constexpr OpCase kGatherCases[] = {
    {.what = "an embedding: reads 4 rows of 1000 and 4 indices",
     .inputs = "w:f32[1000,64] i64[1,4]",
     .outputs = "f32[1,4,64]",
     .bytes_read = 1056,
     .bytes_written = 1024},
    {.what = "one dimension of a shape",
     .inputs = "i64[3]{2,3,5} i64[]{-1}",
     .outputs = "i64[]{5}",
     .bytes_read = 16,
     .bytes_written = 8},
};
constexpr OpCase kGatherElementsCases[] = {{.what = "along columns",
                                            .attributes = "axis=1",
                                            .inputs = "i64[2,2]{1,2,3,4} i64[2,1]{0,-1}",
                                            .outputs = "i64[2,1]{1,4}",
                                            .bytes_read = 32,
                                            .bytes_written = 16}};
constexpr OpCase kGatherNdCases[] = {
    {.what = "rows of a batch",
     .attributes = "batch_dims=1",
     .inputs = "f32[2,5,8] i64[2,1]",
     .outputs = "f32[2,8]",
     .bytes_read = 80,
     .bytes_written = 64},
    {.what = "known values",
     .inputs = "i64[2,2]{1,2,3,4} i64[2,2]{0,0,1,1}",
     .outputs = "i64[2]{1,4}",
     .bytes_read = 48,
     .bytes_written = 16},
};

constexpr std::string_view kGatherFormula =
    "no arithmetic; reads the elements that it takes (not the table) and the indices";

constexpr OpDef kGatherOps[] = {
    {.name = "Gather",
     .since = {1, 11, 13},
     .formula = kGatherFormula,
     .infer = InferGather,
     .values = GatherValues,
     .cost = CostGather,
     .role = FusionRole::kMovement,
     .cases = kGatherCases},
    {.name = "GatherElements",
     .since = {11, 13},
     .formula = kGatherFormula,
     .infer = InferGatherElements,
     .values = GatherElementsValues,
     .cost = CostGather,
     .role = FusionRole::kMovement,
     .cases = kGatherElementsCases},
    {.name = "GatherND",
     .since = {11, 12, 13},
     .formula = kGatherFormula,
     .infer = InferGatherNd,
     .values = GatherNdValues,
     .cost = CostGather,
     .role = FusionRole::kMovement,
     .cases = kGatherNdCases},
};

}  // namespace

std::span<const OpDef> GatherOps() { return kGatherOps; }

}  // namespace dlcost
