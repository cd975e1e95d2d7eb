#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "models/operators/common.h"
#include "models/operators/families.h"
#include "models/operators/value_ops.h"

namespace dlcost {
namespace {

// Opset 1 repeats along one axis, given as scalar inputs; since 6 there is a count per axis.
std::vector<std::int64_t> Repeats(const OpContext& ctx) {
  const std::size_t rank = ctx.InputShape(0).rank();
  if (ctx.opset() < 6) {
    std::vector<std::int64_t> repeats(rank, 1);
    const auto integer = [&ctx](int i) {
      const std::vector<double> real = ctx.InputReals(i);
      if (real.size() != 1) throw Error("input {} is not a single number", i);
      return Truncate(real.front());
    };
    repeats[NormalizeAxis(integer(2), rank)] = integer(1);
    return repeats;
  }
  std::vector<std::int64_t> repeats = ctx.InputInts(1);
  if (repeats.size() != rank) {
    throw Error("{} repeats for a tensor of rank {}", repeats.size(), rank);
  }
  return repeats;
}

void InferTile(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  Shape shape = ctx.InputShape(0);
  const std::vector<std::int64_t> repeats = Repeats(ctx);
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    shape[axis] = (Count(shape[axis]) * Count(repeats[axis])).value();
  }
  ctx.SetOutput(0, ctx.InputType(0), std::move(shape));
}

void TileValues(OpContext& ctx) {
  if (ctx.InputValue(0) == nullptr) return;
  const Shape& x = ctx.InputShape(0);
  const std::vector<std::int64_t> strides = RowMajorStrides(x);
  Indices indices;
  ForEachElement(ctx.OutputShape(0), [&](const std::vector<std::int64_t>& at) {
    std::int64_t flat = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis) flat += at[axis] % x[axis] * strides[axis];
    indices.push_back(static_cast<std::size_t>(flat));
  });
  SetTaken(ctx, indices);
}

// Broadcasting goes both ways: a 1 in the wanted shape keeps the dimension of the input.
void InferExpand(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const std::vector<std::int64_t> wanted = ctx.InputInts(1);
  for (const std::int64_t dim : wanted) {
    if (dim < 0)
      throw Error("the wanted shape {} has a negative dimension", ToString(Shape(wanted)));
  }
  ctx.SetOutput(0, ctx.InputType(0), Broadcast(ctx.InputShape(0), Shape(wanted)));
}

void ExpandValues(OpContext& ctx) {
  if (ctx.InputValue(0) == nullptr) return;
  SetTaken(ctx, BroadcastIndices(ctx.InputShape(0), ctx.OutputShape(0)));
}

OpCost CostRepeat(const OpContext& ctx) {
  if (ctx.InputShape(0).Elements() == ctx.OutputShape(0).Elements()) return CostView(ctx);
  return StreamFirst(ctx, 1);
}

constexpr OpCase kTileCases[] = {
    {.what = "reads once, writes every copy",
     .inputs = "f32[2,3] i64[2]{2,1}",
     .outputs = "f32[4,3]",
     .bytes_read = 24,
     .bytes_written = 48},
    {.what = "a known value",
     .inputs = "i64[2]{1,2} i64[1]{2}",
     .outputs = "i64[4]{1,2,1,2}",
     .bytes_read = 16,
     .bytes_written = 32},
};

constexpr OpCase kExpandCases[] = {
    {.what = "both ways",
     .inputs = "f32[3,1] i64[3]{2,1,4}",
     .outputs = "f32[2,3,4]",
     .bytes_read = 12,
     .bytes_written = 96},
    {.what = "to its own shape: nothing to do",
     .inputs = "f32[3,4] i64[2]{1,1}",
     .outputs = "f32[3,4]"},
};

constexpr OpDef kRepeatOps[] = {
    {.name = "Tile",
     .since = {1, 6, 13},
     .formula = "no arithmetic; reads the input once, writes all copies",
     .infer = InferTile,
     .values = TileValues,
     .cost = CostRepeat,
     .role = FusionRole::kMovement,
     .cases = kTileCases},
    {.name = "Expand",
     .since = {8, 13},
     .formula = "no arithmetic; reads the input once, writes all copies",
     .infer = InferExpand,
     .values = ExpandValues,
     .cost = CostRepeat,
     .role = FusionRole::kMovement,
     .cases = kExpandCases},
};

}  // namespace

std::span<const OpDef> RepeatOps() { return kRepeatOps; }

}  // namespace dlcost
