#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"
#include "models/operators/value_ops.h"

namespace dlcost {
namespace {

std::optional<OpClass> ReductionClass(const OpContext& ctx) {
  const std::string reduction = ctx.String("reduction", "none");
  if (reduction == "none") return std::nullopt;
  if (reduction == "add") return OpClass::kAdd;
  if (reduction == "mul") return OpClass::kMul;
  if (reduction == "max" || reduction == "min") return OpClass::kCompare;
  throw Error("reduction is '{}'; there are none, add, mul, max and min", Printable(reduction));
}

// The copy of the data is part of the operator: its output is a new tensor.
OpCost CostScatter(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  if (const auto op_class = ReductionClass(ctx)) {
    cost.work.Add(*op_class, ctx.InputType(0), ctx.InputShape(2).Elements());
  }
  return cost;
}

std::int64_t Position(std::int64_t index, std::int64_t extent) {
  const std::int64_t position = index < 0 ? index + extent : index;
  if (position < 0 || position >= extent) {
    throw Error("index {} is outside an axis of {}", index, extent);
  }
  return position;
}

// Output 0 = input 0 with element targets[i] replaced by (or combined with) element i of input 2.
void SetScattered(OpContext& ctx, const Indices& targets) {
  const Value& data = *ctx.InputValue(0);
  const Value& updates = *ctx.InputValue(2);
  const std::string reduction = ctx.String("reduction", "none");
  if (data.is_integer() != updates.is_integer()) return;
  const auto combine = [&reduction](auto old, auto update) {
    if (reduction == "max") return std::max(old, update);
    if (reduction == "min") return std::min(old, update);
    if constexpr (std::is_integral_v<decltype(old)>) {
      if (reduction == "add") return WrapAdd(old, update);
      if (reduction == "mul") return WrapMul(old, update);
    } else {
      if (reduction == "add") return old + update;
      if (reduction == "mul") return old * update;
    }
    return update;
  };
  if (data.is_integer()) {
    std::vector<std::int64_t> ints = data.ints();
    for (std::size_t i = 0; i < targets.size(); ++i) {
      ints.at(targets[i]) = combine(ints.at(targets[i]), updates.ints().at(i));
    }
    SetInts(ctx, 0, std::move(ints));
  } else {
    std::vector<double> reals = data.reals();
    for (std::size_t i = 0; i < targets.size(); ++i) {
      reals.at(targets[i]) = combine(reals.at(targets[i]), updates.reals().at(i));
    }
    SetReals(ctx, 0, std::move(reals));
  }
}

bool AllKnown(const OpContext& ctx) {
  return ctx.InputValue(0) != nullptr && ctx.InputValue(1) != nullptr &&
         ctx.InputValue(2) != nullptr;
}

void InferScatterElements(OpContext& ctx) {
  InferSameAsInput(ctx);
  NormalizeAxis(ctx.Int("axis", 0), ctx.InputShape(0).rank());
  if (ctx.InputShape(1) != ctx.InputShape(2) || ctx.InputRank(0) != ctx.InputRank(1)) {
    throw Error("data {}, indices {} and updates {} do not match", ToString(ctx.InputShape(0)),
                ToString(ctx.InputShape(1)), ToString(ctx.InputShape(2)));
  }
}

void ScatterElementsValues(OpContext& ctx) {
  if (!AllKnown(ctx)) return;
  const Shape& x = ctx.InputShape(0);
  const std::size_t axis = NormalizeAxis(ctx.Int("axis", 0), x.rank());
  const std::vector<std::int64_t> picks = ctx.InputInts(1);
  const std::vector<std::int64_t> strides = RowMajorStrides(x);
  Indices targets;
  ForEachElement(ctx.InputShape(1), [&](const std::vector<std::int64_t>& at) {
    std::int64_t flat = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      flat += Position(i == axis ? picks[targets.size()] : at[i], x[i]) * strides[i];
    }
    targets.push_back(static_cast<std::size_t>(flat));
  });
  SetScattered(ctx, targets);
}

void InferScatterNd(OpContext& ctx) {
  InferSameAsInput(ctx);
  const Shape& x = ctx.InputShape(0);
  const Shape& indices = ctx.InputShape(1);
  const std::int64_t depth = indices.rank() == 0 ? -1 : indices[indices.rank() - 1];
  if (depth < 0 || depth > x.Rank()) {
    throw Error("indices {} do not address {}", ToString(indices), ToString(x));
  }
  std::vector<std::int64_t> wanted(indices.begin(), indices.end() - 1);
  wanted.insert(wanted.end(), x.begin() + depth, x.end());
  if (ctx.InputShape(2) != Shape(wanted)) {
    throw Error("updates have shape {} where {} is required", ToString(ctx.InputShape(2)),
                ToString(Shape(wanted)));
  }
}

void ScatterNdValues(OpContext& ctx) {
  if (!AllKnown(ctx)) return;
  const Shape& x = ctx.InputShape(0);
  const Shape& shape = ctx.InputShape(1);
  const auto depth = static_cast<std::size_t>(shape[shape.rank() - 1]);
  const std::int64_t tuples = shape.Product(0, shape.rank() - 1).value();
  const std::vector<std::int64_t> picks = ctx.InputInts(1);
  const std::vector<std::int64_t> strides = RowMajorStrides(x);
  const std::int64_t inner = x.Product(depth, x.rank()).value();
  Indices targets;
  for (std::size_t t = 0; t < static_cast<std::size_t>(tuples); ++t) {
    std::int64_t start = 0;
    for (std::size_t i = 0; i < depth; ++i) {
      start += Position(picks[t * depth + i], x[i]) * strides[i];
    }
    for (std::int64_t i = 0; i < inner; ++i) targets.push_back(static_cast<std::size_t>(start + i));
  }
  SetScattered(ctx, targets);
}

// A key-value cache updated in place: only the new part moves.
OpCost CostTensorScatter(const OpContext& ctx) {
  OpCost cost;
  AddRead(cost, ctx, 1);
  AddRead(cost, ctx, 2);
  cost.accesses.push_back({true, 0, AccessKind::kInPlace, ctx.InputBytes(1), 0});
  return cost;
}

void InferTensorScatter(OpContext& ctx) {
  InferSameAsInput(ctx);
  const Shape& cache = ctx.InputShape(0);
  const Shape& update = ctx.InputShape(1);
  const std::size_t axis = NormalizeAxis(ctx.Int("axis", -2), cache.rank());
  Shape comparable = update;
  if (update.rank() == cache.rank() && update[axis] <= cache[axis]) comparable[axis] = cache[axis];
  if (comparable != cache) {
    throw Error("update {} does not fit into cache {} along axis {}", ToString(update),
                ToString(cache), axis);
  }
}

constexpr OpCase kScatterElementsCases[] = {
    {.what = "sums into columns: 1 add per update",
     .attributes = "axis=1 reduction='add'",
     .inputs = "f32[3,5] i64[3,2] f32[3,2]",
     .outputs = "f32[3,5]",
     .flops = 6,
     .bytes_read = 132,
     .bytes_written = 60},
    {.what = "known values",
     .inputs = "i64[3]{1,2,3} i64[1]{-1} i64[1]{9}",
     .outputs = "i64[3]{1,2,9}",
     .bytes_read = 40,
     .bytes_written = 24},
};
constexpr OpCase kScatterCases[] = {{.what = "the first name of ScatterElements",
                                     .attributes = "axis=1",
                                     .inputs = "f32[3,5] i64[3,2] f32[3,2]",
                                     .outputs = "f32[3,5]",
                                     .bytes_read = 132,
                                     .bytes_written = 60}};
constexpr OpCase kScatterNdCases[] = {
    {.what = "rows",
     .inputs = "f32[4,4] i64[2,1] f32[2,4]",
     .outputs = "f32[4,4]",
     .bytes_read = 112,
     .bytes_written = 64},
    {.what = "known values",
     .inputs = "i64[3]{1,2,3} i64[1,1]{1} i64[1]{7}",
     .outputs = "i64[3]{1,7,3}",
     .bytes_read = 40,
     .bytes_written = 24},
};
constexpr OpCase kTensorScatterCases[] = {{.what = "one step of a cache of 1024",
                                           .inputs = "f16[2,8,1024,64] f16[2,8,1,64] i64[2]",
                                           .outputs = "f16[2,8,1024,64]",
                                           .bytes_read = 2064,
                                           .bytes_written = 2048}};

constexpr std::string_view kScatterFormula =
    "1 operation per update with a reduction, else none; reads data, indices and updates, writes "
    "the result";

constexpr IntegerInputs kDataAndUpdates{.passed = InputSet({0, 2})};

constexpr OpDef kScatterOps[] = {
    {.name = "ScatterElements",
     .since = {11, 13, 16, 18},
     .formula = kScatterFormula,
     .infer = InferScatterElements,
     .values = ScatterElementsValues,
     .cost = CostScatter,
     .role = FusionRole::kMovement,
     .cases = kScatterElementsCases,
     .integers = kDataAndUpdates},
    {.name = "Scatter",
     .since = {9},
     .formula = kScatterFormula,
     .infer = InferScatterElements,
     .values = ScatterElementsValues,
     .cost = CostScatter,
     .role = FusionRole::kMovement,
     .cases = kScatterCases,
     .removed_in = 11,
     .integers = kDataAndUpdates},
    {.name = "ScatterND",
     .since = {11, 13, 16, 18},
     .formula = kScatterFormula,
     .infer = InferScatterNd,
     .values = ScatterNdValues,
     .cost = CostScatter,
     .role = FusionRole::kMovement,
     .cases = kScatterNdCases,
     .integers = kDataAndUpdates},
    {.name = "TensorScatter",
     .since = {24},
     .formula = "no arithmetic; reads and writes the update, in place",
     .infer = InferTensorScatter,
     .cost = CostTensorScatter,
     .role = FusionRole::kMovement,
     .cases = kTensorScatterCases},
};

}  // namespace

std::span<const OpDef> ScatterOps() { return kScatterOps; }

}  // namespace dlcost
