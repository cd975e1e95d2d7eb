#include <numeric>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"
#include "models/operators/value_ops.h"

namespace dlcost {
namespace {

// Exporters join empty lists of rank 1 with anything; runtimes skip them.
bool IsEmptyList(const Shape& shape) { return shape.rank() == 1 && shape[0] == 0; }

std::int64_t ConcatAxis(const OpContext& ctx) {
  // The attribute is optional, with default 1, before opset 4.
  return ctx.opset() < 4 ? ctx.Int("axis", 1) : ctx.RequiredInt("axis");
}

void InferConcat(OpContext& ctx) {
  RequireInputs(ctx, 1);
  ctx.SetOutputType(0, ctx.InputType(0));
  Shape result = ctx.InputShape(0);
  for (int i = 1; IsEmptyList(result) && i < ctx.NumInputs(); ++i) result = ctx.InputShape(i);
  const std::size_t axis = NormalizeAxis(ConcatAxis(ctx), result.rank());
  Count extent = 0;
  std::vector<std::int64_t> extents;  // output 1 of ConcatTraining, which SplitTraining reads
  for (int i = 0; i < ctx.NumInputs(); ++i) {
    const Shape& shape = ctx.InputShape(i);
    if (ctx.InputType(i) != ctx.InputType(0)) {
      throw Error("input {} is {}, input 0 is {}", i, Name(ctx.InputType(i)),
                  Name(ctx.InputType(0)));
    }
    if (IsEmptyList(shape)) {
      extents.push_back(0);
      continue;
    }
    Shape comparable = shape;
    if (shape.rank() == result.rank()) comparable[axis] = result[axis];
    if (comparable != result) {
      throw Error("{} and {} do not join along axis {}", ToString(result), ToString(shape), axis);
    }
    extent += Count(shape[axis]);
    extents.push_back(shape[axis]);
  }
  result[axis] = extent.value();
  ctx.SetOutput(0, ctx.InputType(0), std::move(result));
  if (!ctx.HasOutput(1)) return;
  ctx.SetOutput(1, DType::kInt64, {static_cast<std::int64_t>(extents.size())});
  ctx.SetOutputValue(1, Value(std::move(extents)));
}

void ConcatValues(OpContext& ctx) {
  const Shape& result = ctx.OutputShape(0);
  const std::size_t axis = NormalizeAxis(ConcatAxis(ctx), result.rank());
  const auto outer = static_cast<std::size_t>(result.Product(0, axis).value());
  std::vector<std::int64_t> ints;
  std::vector<double> reals;
  for (std::size_t row = 0; row < outer; ++row) {
    for (int i = 0; i < ctx.NumInputs(); ++i) {
      const Value* value = ctx.InputValue(i);
      if (value == nullptr) return;
      const std::size_t chunk = value->size() / outer;
      for (std::size_t e = row * chunk; e < (row + 1) * chunk; ++e) {
        if (value->is_integer()) {
          ints.push_back(value->ints()[e]);
        } else {
          reals.push_back(value->reals()[e]);
        }
      }
    }
  }
  if (IsFloat(ctx.OutputType(0))) {
    SetReals(ctx, 0, std::move(reals));
  } else {
    SetInts(ctx, 0, std::move(ints));
  }
}

OpCost CostConcat(const OpContext& ctx) {
  return ctx.NumInputs() == 1 ? CostView(ctx) : CostMove(ctx);
}

// The extents of the parts: given, or equal; since opset 18 the last may be smaller.
std::vector<std::int64_t> Parts(const OpContext& ctx, std::int64_t extent) {
  if (auto split = ctx.IntsFromInputOrAttribute(1, "split")) {
    Count sum = 0;
    for (const std::int64_t part : *split) sum += Count(part);
    // Of what may be smaller than its upper bound the parts tell the size.
    const bool tells = ctx.Input(0).upper_bound && sum < Count(extent);
    if (sum != Count(extent) && !tells) {
      throw Error("the parts {} add up to {}, not to {}", ToString(Shape(*split)), sum, extent);
    }
    if (split->size() != static_cast<std::size_t>(ctx.NumOutputs())) {
      throw Error("{} parts for {} outputs", split->size(), ctx.NumOutputs());
    }
    return *split;
  }
  const std::int64_t parts =
      ctx.opset() >= 18 ? ctx.Int("num_outputs", ctx.NumOutputs()) : ctx.NumOutputs();
  if (parts != ctx.NumOutputs()) {
    throw Error("num_outputs is {}, but there are {} outputs", parts, ctx.NumOutputs());
  }
  if (ctx.opset() < 18 && extent % parts != 0) {
    throw Error("{} does not divide into {} equal parts", extent, parts);
  }
  const std::int64_t part = CeilDiv(extent, parts).value();
  std::vector<std::int64_t> extents;
  for (std::int64_t left = extent; static_cast<std::int64_t>(extents.size()) < parts;) {
    extents.push_back(std::min(part, left));
    left -= extents.back();
  }
  return extents;
}

void InferSplit(OpContext& ctx) {
  for (int i = 0; i < ctx.NumOutputs(); ++i) ctx.SetOutputType(i, ctx.InputType(0));
  Shape shape = ctx.InputShape(0);
  const std::size_t axis = NormalizeAxis(ctx.Int("axis", 0), shape.rank());
  const std::vector<std::int64_t> parts = Parts(ctx, shape[axis]);
  for (int i = 0; i < ctx.NumOutputs(); ++i) {
    shape[axis] = parts[static_cast<std::size_t>(i)];
    ctx.SetOutput(i, ctx.InputType(0), shape);
  }
}

void SplitValues(OpContext& ctx) {
  if (ctx.InputValue(0) == nullptr) return;
  const Shape& shape = ctx.InputShape(0);
  const std::size_t axis = NormalizeAxis(ctx.Int("axis", 0), shape.rank());
  const std::vector<std::int64_t> parts = Parts(ctx, shape[axis]);
  std::int64_t begin = 0;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    Indices indices;
    std::size_t flat = 0;
    ForEachElement(shape, [&](const std::vector<std::int64_t>& at) {
      if (at[axis] >= begin && at[axis] < begin + parts[part]) indices.push_back(flat);
      ++flat;
    });
    SetTaken(ctx, indices, static_cast<int>(part));
    begin += parts[part];
  }
}

// Reads what the outputs that someone uses take.
OpCost CostSplit(const OpContext& ctx) {
  if (ctx.NumOutputs() == 1) return CostView(ctx);
  OpCost cost;
  Count taken = 0;
  for (int i = 0; i < ctx.NumOutputs(); ++i) {
    AddWrite(cost, ctx, i);
    if (ctx.HasOutput(i)) taken += ctx.OutputShape(i).Elements();
  }
  AddPartialRead(cost, ctx, 0, taken, AccessKind::kStream);
  return cost;
}

constexpr OpCase kConcatCases[] = {
    {.what = "channels",
     .attributes = "axis=1",
     .inputs = "f32[1,2,3] f32[1,4,3]",
     .outputs = "f32[1,6,3]",
     .bytes_read = 72,
     .bytes_written = 72},
    {.what = "known values (a shape)",
     .attributes = "axis=0",
     .inputs = "i64[1]{2} i64[2]{-1,7}",
     .outputs = "i64[3]{2,-1,7}",
     .bytes_read = 24,
     .bytes_written = 24},
};

constexpr OpCase kSplitCases[] = {
    {.what = "given parts",
     .attributes = "axis=1",
     .inputs = "f32[2,6] i64[2]{2,4}",
     .outputs = "f32[2,2] f32[2,4]",
     .bytes_read = 48,
     .bytes_written = 48},
    {.what = "since opset 18 the last part may be smaller",
     .attributes = "num_outputs=3",
     .inputs = "i64[7]{1,2,3,4,5,6,7}",
     .outputs = "i64[3]{1,2,3} i64[3]{4,5,6} i64[1]{7}",
     .bytes_read = 56,
     .bytes_written = 56},
    {.what = "opset 11: parts as an attribute, one output unused",
     .attributes = "split=[1,3]",
     .inputs = "f32[4]",
     .outputs = "_ f32[3]",
     .bytes_read = 12,
     .bytes_written = 12,
     .opset = 11},
};

constexpr OpDef kConcatOps[] = {
    {.name = "Concat",
     .since = {1, 4, 11, 13},
     .formula = "no arithmetic; reads and writes every element",
     .infer = InferConcat,
     .values = ConcatValues,
     .cost = CostConcat,
     .role = FusionRole::kMovement,
     .cases = kConcatCases,
     .integers = IntegerInputs{.passed = kEveryInput}},
    {.name = "Split",
     .since = {1, 2, 11, 13, 18},
     .formula = "no arithmetic; reads and writes every element that an output takes",
     .infer = InferSplit,
     .values = SplitValues,
     .cost = CostSplit,
     .role = FusionRole::kMovement,
     .cases = kSplitCases},
};

}  // namespace

std::span<const OpDef> ConcatOps() { return kConcatOps; }

}  // namespace dlcost
