#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Operators that give the same data another shape. Nothing moves.

// 0 copies the dimension of the input (unless allowzero), one -1 takes what is left.
Shape ReshapedTo(const OpContext& ctx, const std::vector<std::int64_t>& given) {
  const Shape& input = ctx.InputShape(0);
  const bool zero_copies = ctx.opset() < 14 || ctx.Int("allowzero", 0) == 0;
  std::vector<std::int64_t> dims = given;
  const auto wanted = [&] { return ToString(Shape(given)); };
  std::optional<std::size_t> open;
  Count known = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && zero_copies) {
      if (i >= input.rank()) {
        throw Error("shape {} copies dimension {} of {}, which has none", wanted(), i,
                    ToString(input));
      }
      dims[i] = input[i];
    }
    if (dims[i] == -1) {
      if (open) throw Error("shape {} has more than one -1", wanted());
      open = i;
      continue;
    }
    if (dims[i] < -1) throw Error("shape {} has the negative dimension {}", wanted(), dims[i]);
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!open || i != *open) known *= Count(dims[i]);
  }
  const Count elements = input.Elements();
  // Of an input whose sizes are upper bounds the elements are not known, only that they fit.
  const bool exact = !ctx.Input(0).upper_bound;
  if (open) {
    const bool divides = known == Count(0) ? elements == Count(0) : elements % known == Count(0);
    if (exact && !divides) {
      throw Error("{} elements of {} do not divide into shape {}", elements, ToString(input),
                  wanted());
    }
    dims[*open] = known == Count(0) ? 0 : (elements / known).value();
  } else if (exact ? known != elements : known > elements) {
    throw Error("{} with {} elements cannot become {}", ToString(input), elements, wanted());
  }
  return Shape(std::move(dims));
}

void InferReshape(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  // An attribute before opset 5.
  const auto shape = ctx.IntsFromInputOrAttribute(1, "shape");
  if (!shape) throw Error("the new shape is missing");
  ctx.SetOutput(0, ctx.InputType(0), ReshapedTo(ctx, *shape));
}

void InferFlatten(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& x = ctx.InputShape(0);
  // From -rank to rank: counted from the back it is an axis, counted from the front a cut.
  const std::int64_t cut = ctx.Int("axis", 1);
  const std::size_t axis = NormalizeAxis(cut, x.rank(), cut >= 0);
  ctx.SetOutput(0, ctx.InputType(0),
                Shape{x.Product(0, axis).value(), x.Product(axis, x.rank()).value()});
}

void InferSqueeze(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& x = ctx.InputShape(0);
  std::vector<bool> drop(x.rank(), false);
  if (const auto axes = ctx.IntsFromInputOrAttribute(1, "axes")) {
    for (const std::int64_t axis : *axes) {
      const std::size_t i = NormalizeAxis(axis, x.rank());
      if (x[i] != 1) throw Error("axis {} of {} is not 1 and cannot go", axis, ToString(x));
      drop[i] = true;
    }
  } else {
    for (std::size_t i = 0; i < x.rank(); ++i) drop[i] = x[i] == 1;
  }
  Shape y;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (!drop[i]) y.Append(x[i]);
  }
  ctx.SetOutput(0, ctx.InputType(0), std::move(y));
}

void InferUnsqueeze(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& x = ctx.InputShape(0);
  const auto axes = ctx.IntsFromInputOrAttribute(1, "axes");
  if (!axes) throw Error("the axes are missing");
  const std::size_t rank = x.rank() + axes->size();
  std::vector<bool> added(rank, false);
  for (const std::int64_t axis : *axes) {
    const std::size_t i = NormalizeAxis(axis, rank);
    if (added[i]) throw Error("axis {} appears twice", axis);
    added[i] = true;
  }
  Shape y;
  for (std::size_t i = 0, from = 0; i < rank; ++i) y.Append(added[i] ? 1 : x[from++]);
  ctx.SetOutput(0, ctx.InputType(0), std::move(y));
}

// Sequences and optionals pass as well as tensors.
void InferIdentity(OpContext& ctx) { ctx.SetOutputTensorType(0, ctx.Input(0).type); }

constexpr OpCase kReshapeCases[] = {
    {.what = "0 copies, -1 takes the rest",
     .inputs = "f32[2,3,4] i64[2]{0,-1}",
     .outputs = "f32[2,12]"},
    {.what = "opset 1: the shape is an attribute",
     .attributes = "shape=[4,-1]",
     .inputs = "f32[2,3,4]",
     .outputs = "f32[4,6]",
     .opset = 1},
    {.what = "allowzero: 0 is a dimension",
     .attributes = "allowzero=1",
     .inputs = "f32[0,3] i64[2]{3,0}",
     .outputs = "f32[3,0]"},
};
constexpr OpCase kFlattenCases[] = {
    {.what = "to a matrix", .inputs = "f32[2,3,4,5]", .outputs = "f32[2,60]"},
    {.what = "from an axis counted from the back",
     .attributes = "axis=-1",
     .inputs = "f32[2,3,4,5]",
     .outputs = "f32[24,5]"},
};
constexpr OpCase kSqueezeCases[] = {
    {.what = "axes as an input", .inputs = "f32[1,3,1,5] i64[1]{-2}", .outputs = "f32[1,3,5]"},
    {.what = "no axes: every 1 goes", .inputs = "f32[1,3,1,5]", .outputs = "f32[3,5]"},
    {.what = "axes as an attribute, with a value",
     .attributes = "axes=[0]",
     .inputs = "i64[1]{7}",
     .outputs = "i64[]{7}",
     .opset = 11},
};
constexpr OpCase kUnsqueezeCases[] = {
    {.what = "axes refer to the output",
     .inputs = "f32[3,4] i64[2]{0,-1}",
     .outputs = "f32[1,3,4,1]"},
    {.what = "a value passes",
     .attributes = "axes=[0]",
     .inputs = "i64[]{7}",
     .outputs = "i64[1]{7}",
     .opset = 11},
};
constexpr OpCase kIdentityCases[] = {
    {.what = "a value passes", .inputs = "i64[2]{3,4}", .outputs = "i64[2]{3,4}"}};

constexpr OpDef kViewOps[] = {
    {.name = "Reshape",
     .since = {1, 5, 13, 14, 19, 21, 23, 24, 25},
     .formula = kViewFormula,
     .infer = InferReshape,
     .values = ValuesSameAsInput,
     .cost = CostView,
     .role = FusionRole::kView,
     .cases = kReshapeCases},
    {.name = "Flatten",
     .since = {1, 9, 11, 13, 21, 23, 24, 25},
     .formula = kViewFormula,
     .infer = InferFlatten,
     .values = ValuesSameAsInput,
     .cost = CostView,
     .role = FusionRole::kView,
     .cases = kFlattenCases},
    {.name = "Squeeze",
     .since = {1, 11, 13, 21, 23, 24, 25},
     .formula = kViewFormula,
     .infer = InferSqueeze,
     .values = ValuesSameAsInput,
     .cost = CostView,
     .role = FusionRole::kView,
     .cases = kSqueezeCases},
    {.name = "Unsqueeze",
     .since = {1, 11, 13, 21, 23, 24, 25},
     .formula = kViewFormula,
     .infer = InferUnsqueeze,
     .values = ValuesSameAsInput,
     .cost = CostView,
     .role = FusionRole::kView,
     .cases = kUnsqueezeCases},
    {.name = "Identity",
     .since = {1, 13, 14, 16, 19, 21, 23, 24, 25},
     .formula = kViewFormula,
     .infer = InferIdentity,
     .values = ValuesSameAsInput,
     .cost = CostView,
     .role = FusionRole::kView,
     .cases = kIdentityCases},
};

}  // namespace

std::span<const OpDef> ViewOps() { return kViewOps; }

}  // namespace dlcost
