#include <cctype>

#include "estimator/core/error.h"
#include "models/operators/elementwise.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// `to` is the name of a type before opset 6, its number since.
DType TargetType(const OpContext& ctx) {
  if (ctx.opset() >= 6 || std::holds_alternative<std::int64_t>(*ctx.node().FindAttribute("to"))) {
    const std::int64_t number = ctx.RequiredInt("to");
    const DType type = DTypeFromOnnx(static_cast<int>(number));
    if (number < 0 || number >= kDTypeCount || type == DType::kUndefined) {
      throw Error("type {} of attribute 'to' is not known", number);
    }
    return type;
  }
  std::string name = ctx.String("to", "");
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto type = ParseDType(name);
  if (!type) throw Error("type '{}' of attribute 'to' is not known", Printable(name));
  return *type;
}

void InferCast(OpContext& ctx) {
  if (!ctx.HasAttribute("to")) throw Error("attribute 'to' is missing");
  const DType type = TargetType(ctx);
  ctx.SetOutputType(0, type);
  ctx.SetOutput(0, type, ctx.InputShape(0));
}

void InferCastLike(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(1));
  ctx.SetOutput(0, ctx.InputType(1), ctx.InputShape(0));
}

void CastValues(OpContext& ctx) {
  const Value* value = ctx.InputValue(0);
  if (value == nullptr || ctx.OutputType(0) == DType::kString) return;
  if (value->is_integer()) {
    SetInts(ctx, 0, value->ints());
  } else {
    SetReals(ctx, 0, value->reals());
  }
}

// Only input 0 is read: CastLike takes no more than the type of the other.
OpCost CostCast(const OpContext& ctx) {
  if (ctx.InputType(0) == ctx.OutputType(0)) return CostView(ctx);
  OpCost cost;
  AddRead(cost, ctx, 0);
  AddWrite(cost, ctx, 0);
  const Count elements = ctx.OutputShape(0).Elements();
  cost.work.Add(OpClass::kConvert, ctx.InputType(0), elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

void InferBitCast(OpContext& ctx) {
  InferCast(ctx);
  if (Bits(ctx.InputType(0)) != Bits(ctx.OutputType(0))) {
    throw Error("{} has {} bits and cannot be read as {} with {}", Name(ctx.InputType(0)),
                Bits(ctx.InputType(0)), Name(ctx.OutputType(0)), Bits(ctx.OutputType(0)));
  }
}

constexpr OpCase kCastCases[] = {
    {.what = "float to half",
     .attributes = "to=10",
     .inputs = "f32[2,3]",
     .outputs = "f16[2,3]",
     .bytes_read = 24,
     .bytes_written = 12},
    {.what = "a known value truncates",
     .attributes = "to=7",
     .inputs = "f32[2]{2.9,-2.9}",
     .outputs = "i64[2]{2,-2}",
     .bytes_read = 8,
     .bytes_written = 16},
    {.what = "to its own type: nothing to do",
     .attributes = "to=1",
     .inputs = "f32[2,3]",
     .outputs = "f32[2,3]"},
    {.what = "opset 1 names the type",
     .attributes = "to='INT64'",
     .inputs = "f32[2,3]",
     .outputs = "i64[2,3]",
     .bytes_read = 24,
     .bytes_written = 48,
     .opset = 1},
};

constexpr OpCase kCastLikeCases[] = {{.what = "reads only what it converts",
                                      .inputs = "f32[2,3] f16[100]",
                                      .outputs = "f16[2,3]",
                                      .bytes_read = 24,
                                      .bytes_written = 12}};

constexpr OpCase kBitCastCases[] = {{.what = "the same bits, another type",
                                     .attributes = "to=6",
                                     .inputs = "f32[2,3]",
                                     .outputs = "i32[2,3]"}};

constexpr OpDef kCastOps[] = {
    {.name = "Cast",
     .since = {1, 6, 9, 13, 19, 21, 23, 24, 25, 28},
     .formula = "1 conversion per element; a view where the type stays",
     .infer = InferCast,
     .values = CastValues,
     .cost = CostCast,
     .role = FusionRole::kElementwise,
     .cases = kCastCases},
    {.name = "CastLike",
     .since = {15, 19, 21, 23, 24, 25},
     .formula = "1 conversion per element; a view where the type stays",
     .infer = InferCastLike,
     .values = CastValues,
     .cost = CostCast,
     .role = FusionRole::kElementwise,
     .cases = kCastLikeCases},
    {.name = "BitCast",
     .since = {26},
     .formula = "a view: nothing moves",
     .infer = InferBitCast,
     .cost = CostView,
     .role = FusionRole::kView,
     .cases = kBitCastCases},
};

}  // namespace

std::span<const OpDef> CastOps() { return kCastOps; }

}  // namespace dlcost
