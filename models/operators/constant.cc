#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "models/operators/common.h"
#include "models/operators/families.h"
#include "models/operators/value_ops.h"

namespace dlcost {
namespace {

// Operators that make tensors out of shapes and attributes.

void InferShape(OpContext& ctx) {
  ctx.SetOutputType(0, DType::kInt64);
  const auto rank = static_cast<std::int64_t>(ctx.InputShape(0).rank());
  const auto clamp = [rank](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t start = ctx.opset() < 15 ? 0 : clamp(ctx.Int("start", 0));
  const std::int64_t end = ctx.opset() < 15 ? rank : clamp(ctx.Int("end", rank));
  ctx.SetOutput(0, DType::kInt64, Shape{std::max<std::int64_t>(0, end - start)});
  std::vector<std::int64_t> dims;
  for (std::int64_t axis = start; axis < end; ++axis) dims.push_back(ctx.InputDim(0, axis));
  ctx.SetOutputValue(0, Value(std::move(dims)));
  // A size that is only an upper bound stays one when it is asked for.
  if (ctx.Input(0).upper_bound) ctx.MarkUpperBound(0);
}

void InferSize(OpContext& ctx) {
  ctx.SetOutputType(0, DType::kInt64);
  const std::int64_t elements = ctx.InputShape(0).Elements().value();
  ctx.SetOutput(0, DType::kInt64, Shape());
  ctx.SetOutputValue(0, Value(std::vector<std::int64_t>{elements}));
  if (ctx.Input(0).upper_bound) ctx.MarkUpperBound(0);
}

// Exactly one of the attributes gives the value.
void InferConstant(OpContext& ctx) {
  for (const std::string_view name : {"value", "sparse_value"}) {
    if (const StoredTensor* tensor = ctx.TensorAttribute(name)) {
      ctx.SetOutput(0, tensor->dtype, tensor->shape);
      ctx.SetOutputValue(0, tensor->value);
      return;
    }
  }
  const auto extent = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  if (ctx.HasAttribute("value_int")) {
    ctx.SetOutput(0, DType::kInt64, Shape());
    ctx.SetOutputValue(0, Value(std::vector<std::int64_t>{ctx.Int("value_int", 0)}));
  } else if (ctx.HasAttribute("value_ints")) {
    ctx.SetOutput(0, DType::kInt64, Shape{extent(ctx.Ints("value_ints"))});
    ctx.SetOutputValue(0, Value(ctx.Ints("value_ints")));
  } else if (ctx.HasAttribute("value_float")) {
    ctx.SetOutput(0, DType::kFloat32, Shape());
    ctx.SetOutputValue(0, Value(std::vector<double>{ctx.Float("value_float", 0)}));
  } else if (ctx.HasAttribute("value_floats")) {
    ctx.SetOutput(0, DType::kFloat32, Shape{extent(ctx.Floats("value_floats"))});
    ctx.SetOutputValue(0, Value(ctx.Floats("value_floats")));
  } else if (ctx.HasAttribute("value_string")) {
    ctx.SetOutput(0, DType::kString, Shape());
  } else if (ctx.HasAttribute("value_strings")) {
    ctx.SetOutput(0, DType::kString, Shape{extent(ctx.Strings("value_strings"))});
  } else {
    throw Error("no attribute gives the constant's value");
  }
}

// A one-element tensor attribute gives type and value; float32 zeros without it.
void InferConstantOfShape(OpContext& ctx) {
  const StoredTensor* fill = ctx.TensorAttribute("value");
  const DType type = fill != nullptr ? fill->dtype : DType::kFloat32;
  ctx.SetOutputType(0, type);
  ctx.SetOutput(0, type, Shape(ctx.InputInts(0)));
}

void ConstantOfShapeValues(OpContext& ctx) {
  const StoredTensor* fill = ctx.TensorAttribute("value");
  const auto elements = static_cast<std::size_t>(ctx.OutputShape(0).Elements().value());
  if (fill == nullptr) {
    ctx.SetOutputValue(0, Value(std::vector<double>(elements, 0.0)));
  } else if (fill->value && fill->value->size() == 1) {
    ctx.SetOutputValue(0, Take(*fill->value, Indices(elements, 0)));
  }
}

// Only what is written: the shape is known before the run.
OpCost CostFill(const OpContext& ctx) {
  OpCost cost;
  AddWrite(cost, ctx, 0);
  return cost;
}

// ceil((limit - start) / delta) elements, none when that is negative.
// ceil((limit - start) / delta), or 0. The distance between the ends of the type has 64 bits
// without a sign, so that differences are taken modulo 2^64.
Count RangeElements(std::int64_t start, std::int64_t limit, std::int64_t delta) {
  if (delta > 0 ? limit <= start : limit >= start) return 0;
  const auto bits = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  const std::uint64_t distance = delta > 0 ? bits(limit) - bits(start) : bits(start) - bits(limit);
  const std::uint64_t step = delta > 0 ? bits(delta) : std::uint64_t{0} - bits(delta);
  const std::uint64_t elements = (distance - 1) / step + 1;
  if (elements > bits(std::numeric_limits<std::int64_t>::max())) throw OverflowError();
  return static_cast<std::int64_t>(elements);
}

void InferRange(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  double elements = 0;
  if (IsFloat(ctx.InputType(0))) {
    double bounds[3];
    for (int i = 0; i < 3; ++i) {
      const std::vector<double> real = ctx.InputReals(i);
      if (real.size() != 1) throw Error("input {} is not a single number", i);
      bounds[i] = real.front();
    }
    if (bounds[2] == 0) throw Error("delta is 0");
    elements = std::ceil((bounds[1] - bounds[0]) / bounds[2]);
  } else {
    const std::int64_t start = ScalarInput(ctx, 0);
    const std::int64_t limit = ScalarInput(ctx, 1);
    const std::int64_t delta = ScalarInput(ctx, 2);
    if (delta == 0) throw Error("delta is 0");
    ctx.SetOutput(0, ctx.InputType(0), Shape{RangeElements(start, limit, delta).value()});
    return;
  }
  const std::optional<std::int64_t> extent = TryTruncate(std::max(elements, 0.0));
  if (!extent) throw Error("the range has no end");
  ctx.SetOutput(0, ctx.InputType(0), Shape{*extent});
}

void RangeValues(OpContext& ctx) {
  const std::int64_t elements = ctx.OutputShape(0)[0];
  if (IsFloat(ctx.InputType(0))) {
    const double start = ctx.InputReals(0).front();
    const double delta = ctx.InputReals(2).front();
    std::vector<double> reals;
    for (std::int64_t i = 0; i < elements; ++i) {
      reals.push_back(start + static_cast<double>(i) * delta);
    }
    SetReals(ctx, 0, std::move(reals));
    return;
  }
  const std::int64_t start = ScalarInput(ctx, 0);
  const std::int64_t delta = ScalarInput(ctx, 2);
  std::vector<std::int64_t> ints;
  for (std::int64_t i = 0; i < elements; ++i) ints.push_back(WrapAdd(start, WrapMul(i, delta)));
  SetInts(ctx, 0, std::move(ints));
}

OpCost CostRange(const OpContext& ctx) {
  OpCost cost = CostFill(ctx);
  const Count elements = ctx.OutputShape(0).Elements();
  cost.work.Add(OpClass::kMul, ctx.OutputType(0), elements);
  cost.work.Add(OpClass::kAdd, ctx.OutputType(0), elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

void InferEyeLike(OpContext& ctx) {
  const std::int64_t number = ctx.Int("dtype", 0);
  const DType type = number == 0 ? ctx.InputType(0) : DTypeFromOnnx(static_cast<int>(number));
  ctx.SetOutputType(0, type);
  RequireRank(ctx, 0, 2);
  ctx.SetOutput(0, type, ctx.InputShape(0));
}

void EyeLikeValues(OpContext& ctx) {
  const std::int64_t k = ctx.Int("k", 0);
  std::vector<std::int64_t> ones;
  for (std::int64_t row = 0; row < ctx.OutputShape(0)[0]; ++row) {
    for (std::int64_t column = 0; column < ctx.OutputShape(0)[1]; ++column) {
      ones.push_back(WrapSub(column, row) == k ? 1 : 0);
    }
  }
  SetInts(ctx, 0, std::move(ones));
}

constexpr OpCase kShapeCases[] = {
    {.what = "a part of it",
     .attributes = "start=1 end=-1",
     .inputs = "f32[2,3,4,5]",
     .outputs = "i64[2]{3,4}"},
    {.what = "before opset 15: all of it",
     .inputs = "f32[2,3]",
     .outputs = "i64[2]{2,3}",
     .opset = 13},
};
constexpr OpCase kSizeCases[] = {
    {.what = "number of elements", .inputs = "f32[2,3,4]", .outputs = "i64[]{24}"}};
constexpr OpCase kConstantCases[] = {
    {.what = "a list", .attributes = "value_ints=[1,-1]", .inputs = "", .outputs = "i64[2]{1,-1}"},
    {.what = "a tensor", .attributes = "value=f32[1]{2.5}", .inputs = "", .outputs = "f32[1]{2.5}"},
};
constexpr OpCase kConstantOfShapeCases[] = {
    {.what = "zeros by default",
     .inputs = "i64[2]{2,3}",
     .outputs = "f32[2,3]",
     .bytes_written = 24},
    {.what = "ones",
     .attributes = "value=i64[1]{1}",
     .inputs = "i64[1]{3}",
     .outputs = "i64[3]{1,1,1}",
     .bytes_written = 24},
};
constexpr OpCase kRangeCases[] = {
    {.what = "downwards",
     .inputs = "i64[]{10} i64[]{4} i64[]{-4}",
     .outputs = "i64[2]{10,6}",
     .bytes_written = 16},
    {.what = "from one end of the type to the other: 2^64 - 1 in steps of 2^63 - 1",
     .inputs = "i64[]{-9223372036854775808} i64[]{9223372036854775807} i64[]{9223372036854775807}",
     .outputs = "i64[3]{-9223372036854775808,-1,9223372036854775806}",
     .bytes_written = 24},
    {.what = "reals: start + i * delta",
     .inputs = "f32[]{0} f32[]{1} f32[]{0.4}",
     .outputs = "f32[3]",
     .flops = 6,
     .bytes_written = 12},
};
constexpr OpCase kEyeLikeCases[] = {{.what = "an upper diagonal, as int64",
                                     .attributes = "k=1 dtype=7",
                                     .inputs = "f32[2,3]",
                                     .outputs = "i64[2,3]{0,1,0,0,0,1}",
                                     .bytes_written = 48}};

constexpr std::string_view kFillFormula = "no arithmetic; writes its output";

constexpr OpDef kConstantOps[] = {
    {.name = "Shape",
     .since = {1, 13, 15, 19, 21, 23, 24, 25},
     .formula = "metadata: known before the run",
     .infer = InferShape,
     .cost = CostMetadata,
     .role = FusionRole::kView,
     .cases = kShapeCases},
    {.name = "Size",
     .since = {1, 13, 19, 21, 23, 24, 25},
     .formula = "metadata: known before the run",
     .infer = InferSize,
     .cost = CostMetadata,
     .role = FusionRole::kView,
     .cases = kSizeCases},
    {.name = "Constant",
     .since = {1, 9, 11, 12, 13, 19, 21, 23, 24, 25},
     .formula = "metadata: known before the run",
     .infer = InferConstant,
     .cost = CostMetadata,
     .role = FusionRole::kView,
     .cases = kConstantCases},
    {.name = "ConstantOfShape",
     .since = {9, 20, 21, 23, 24, 25},
     .formula = kFillFormula,
     .infer = InferConstantOfShape,
     .values = ConstantOfShapeValues,
     .cost = CostFill,
     .role = FusionRole::kElementwise,
     .cases = kConstantOfShapeCases},
    {.name = "Range",
     .since = {11, 27},
     .formula = "reals: 1 mul, 1 add per element",
     .infer = InferRange,
     .values = RangeValues,
     .cost = CostRange,
     .role = FusionRole::kElementwise,
     .cases = kRangeCases},
    {.name = "EyeLike",
     .since = {9, 22},
     .formula = kFillFormula,
     .infer = InferEyeLike,
     .values = EyeLikeValues,
     .cost = CostFill,
     .role = FusionRole::kElementwise,
     .cases = kEyeLikeCases},
};

}  // namespace

std::span<const OpDef> ConstantOps() { return kConstantOps; }

}  // namespace dlcost
