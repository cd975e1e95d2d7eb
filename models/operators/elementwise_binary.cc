#include <cmath>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "models/operators/elementwise.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// [8,64] with a row of 64: 512 results, 4 * (512 + 64) bytes read.
constexpr OpCase WithRow(std::int64_t flops_per_element) {
  return {.what = "broadcasts a row",
          .inputs = "f32[8,64] f32[64]",
          .outputs = "f32[8,64]",
          .flops = 512 * flops_per_element,
          .bytes_read = 2304,
          .bytes_written = 2048};
}

constexpr BinaryOp kElementwiseBinaryTable[] = {
    {.name = "Add",
     .since = {1, 6, 7, 13, 14},
     .formula = "1 add per element of the output",
     .operations = {.add = 1},
     .real = [](double a, double b) { return a + b; },
     .integer = [](std::int64_t a, std::int64_t b) -> MaybeInt { return WrapAdd(a, b); },
     .example = WithRow(1)},
    {.name = "Sub",
     .since = {1, 6, 7, 13, 14},
     .formula = "1 add per element of the output",
     .operations = {.add = 1},
     .real = [](double a, double b) { return a - b; },
     .integer = [](std::int64_t a, std::int64_t b) -> MaybeInt { return WrapSub(a, b); },
     .example = WithRow(1)},
    {.name = "Mul",
     .since = {1, 6, 7, 13, 14},
     .formula = "1 mul per element of the output",
     .operations = {.mul = 1},
     .real = [](double a, double b) { return a * b; },
     .integer = [](std::int64_t a, std::int64_t b) -> MaybeInt { return WrapMul(a, b); },
     .example = {.what = "opset 6: one factor per channel, at axis 1",
                 .attributes = "broadcast=1 axis=1",
                 .inputs = "f32[1,4,5,5] w:f32[4]",
                 .outputs = "f32[1,4,5,5]",
                 .flops = 100,
                 .bytes_read = 416,
                 .bytes_written = 400,
                 .opset = 6}},
    {.name = "Div",
     .since = {1, 6, 7, 13, 14},
     .formula = "1 div per element of the output",
     .operations = {.div = 1},
     .real = [](double a, double b) { return a / b; },
     // Integers truncate towards zero.
     .integer = [](std::int64_t a, std::int64_t b) -> MaybeInt {
       if (b == 0) return std::nullopt;
       return b == -1 ? WrapSub(0, a) : a / b;
     },
     .example = {.what = "integers truncate",
                 .inputs = "i64[2]{7,-7} i64[]{2}",
                 .outputs = "i64[2]{3,-3}",
                 .bytes_read = 24,
                 .bytes_written = 16}},
    {.name = "BitwiseAnd",
     .since = {18},
     .formula = "1 bitwise operation (class integer) per element",
     .operations = {.integer = 1},
     .integer = [](std::int64_t a, std::int64_t b) -> MaybeInt { return a & b; },
     .example = {.what = "known values",
                 .inputs = "i32[2]{6,5} i32[2]{3,4}",
                 .outputs = "i32[2]{2,4}",
                 .bytes_read = 16,
                 .bytes_written = 8}},
    {.name = "BitwiseOr",
     .since = {18},
     .formula = "1 bitwise operation (class integer) per element",
     .operations = {.integer = 1},
     .integer = [](std::int64_t a, std::int64_t b) -> MaybeInt { return a | b; },
     .example = {.what = "known values",
                 .inputs = "i32[2]{6,5} i32[2]{3,4}",
                 .outputs = "i32[2]{7,5}",
                 .bytes_read = 16,
                 .bytes_written = 8}},
    {.name = "BitwiseXor",
     .since = {18},
     .formula = "1 bitwise operation (class integer) per element",
     .operations = {.integer = 1},
     .integer = [](std::int64_t a, std::int64_t b) -> MaybeInt { return a ^ b; },
     .example = {.what = "known values",
                 .inputs = "i32[2]{6,5} i32[2]{3,4}",
                 .outputs = "i32[2]{5,1}",
                 .bytes_read = 16,
                 .bytes_written = 8}},
};

constexpr auto kElementwiseBinaryOps = MakeBinaryOps<kElementwiseBinaryTable>();

// Base and exponent may differ in type since opset 12; the result has the type of the base.
void InferPow(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& a = ctx.InputShape(0);
  const Shape result = Broadcast(a, AlignedShapeB(ctx, 7));
  ctx.SetOutput(0, ctx.InputType(0), result);
}

void PowValues(OpContext& ctx) {
  const auto real = [](double a, double b) { return std::pow(a, b); };
  const auto integer = [](std::int64_t a, std::int64_t b) -> MaybeInt {
    const double result = std::pow(static_cast<double>(a), static_cast<double>(b));
    // Exact in a double up to 2^53; shapes are below.
    if (!(std::fabs(result) < 9007199254740992.0)) return std::nullopt;
    return TryTruncate(result);
  };
  MapBinary(ctx, 0, 1, AlignedShapeB(ctx, 7), real, integer);
}

// A known exponent that every runtime replaces by products or roots counts as those.
PerElement PowOperations(const OpContext& ctx) {
  const Value* exponent = ctx.InputValue(1);
  if (exponent != nullptr && exponent->size() == 1) {
    const double e = exponent->Real(0);
    if (e == 2) return {.mul = 1};
    if (e == 3) return {.mul = 2};
    if (e == 0.5 || e == -0.5) return {.sqrt = 1};
    if (e == -1) return {.div = 1};
  }
  return {.mul = 1, .exp = 1, .log = 1};
}

OpCost CostPow(const OpContext& ctx) { return CostPerElement(ctx, PowOperations(ctx)); }

constexpr OpCase kPowCases[] = {
    {.what = "square (variance of a LayerNormalization in parts)",
     .inputs = "f32[2,3] f32[]{2}",
     .outputs = "f32[2,3]",
     .flops = 6,
     .bytes_read = 28,
     .bytes_written = 24},
    {.what = "exp(y log x): 1 exp, 1 log, 1 mul each",
     .inputs = "f32[2,3] f32[2,3]",
     .outputs = "f32[2,3]",
     .flops = 6,
     .bytes_read = 48,
     .bytes_written = 24},
};

void InferMod(OpContext& ctx) { InferBinary(ctx, 7, ctx.InputType(0)); }

void ModValues(OpContext& ctx) {
  if (ctx.Int("fmod", 0) != 0) {
    MapBinary(
        ctx, 0, 1, ctx.InputShape(1), [](double a, double b) { return std::fmod(a, b); },
        [](std::int64_t a, std::int64_t b) -> MaybeInt {
          if (b == 0) return std::nullopt;
          return b == -1 ? 0 : a % b;
        });
    return;
  }
  // The sign of the divisor, as in Python.
  MapBinary(
      ctx, 0, 1, ctx.InputShape(1), [](double a, double b) { return a - std::floor(a / b) * b; },
      [](std::int64_t a, std::int64_t b) -> MaybeInt {
        if (b == 0) return std::nullopt;
        if (b == -1) return 0;
        const std::int64_t remainder = a % b;
        return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
      });
}

OpCost CostMod(const OpContext& ctx) {
  if (!IsFloat(ctx.InputType(0))) return CostPerElement(ctx, {.integer = 1});
  return CostPerElement(ctx, {.add = 1, .mul = 1, .div = 1, .convert = 1});
}

constexpr OpCase kModCases[] = {
    {.what = "integers take the sign of the divisor",
     .inputs = "i64[2]{-7,7} i64[]{3}",
     .outputs = "i64[2]{2,1}",
     .bytes_read = 24,
     .bytes_written = 16},
    {.what = "reals: a - trunc(a / b) * b",
     .attributes = "fmod=1",
     .inputs = "f32[2,3] f32[2,3]",
     .outputs = "f32[2,3]",
     .flops = 18,
     .bytes_read = 48,
     .bytes_written = 24},
};

void InferBitShift(OpContext& ctx) {
  const std::string direction = ctx.String("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    throw Error("direction is '{}'; there are 'LEFT' and 'RIGHT'", Printable(direction));
  }
  InferBinary(ctx, 7, ctx.InputType(0));
}

void BitShiftValues(OpContext& ctx) {
  const bool left = ctx.String("direction", "") == "LEFT";
  // A shift by the whole width or more, or by a negative amount, leaves the sign alone.
  MapBinary(ctx, 0, 1, ctx.InputShape(1), nullptr,
            left ? BinaryInt([](std::int64_t a, std::int64_t b) -> MaybeInt {
              if (b < 0 || b > 63) return 0;
              return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b);
            })
                 : BinaryInt([](std::int64_t a, std::int64_t b) -> MaybeInt {
                     if (b < 0 || b > 63) return a < 0 ? -1 : 0;
                     return a >> b;
                   }));
}

OpCost CostBitShift(const OpContext& ctx) { return CostPerElement(ctx, {.integer = 1}); }

constexpr OpCase kBitShiftCases[] = {{.what = "known values",
                                      .attributes = "direction='LEFT'",
                                      .inputs = "u8[2]{1,200} u8[2]{3,1}",
                                      .outputs = "u8[2]{8,144}",
                                      .bytes_read = 4,
                                      .bytes_written = 2}};

constexpr OpDef kPowerOps[] = {
    {.name = "Pow",
     .since = {1, 7, 12, 13, 15},
     .formula = "1 mul, 1 exp, 1 log per element; a known exponent 2: 1 mul, 3: 2 mul, 0.5: 1 sqrt",
     .infer = InferPow,
     .values = PowValues,
     .cost = CostPow,
     .role = FusionRole::kElementwise,
     .cases = kPowCases},
    {.name = "Mod",
     .since = {10, 13, 28},
     .formula = "integers: 1 integer operation; reals: 1 div, 1 mul, 1 add per element",
     .infer = InferMod,
     .values = ModValues,
     .cost = CostMod,
     .role = FusionRole::kElementwise,
     .cases = kModCases},
    {.name = "BitShift",
     .since = {11, 28},
     .formula = "1 bitwise operation (class integer) per element",
     .infer = InferBitShift,
     .values = BitShiftValues,
     .cost = CostBitShift,
     .role = FusionRole::kElementwise,
     .cases = kBitShiftCases,
     // Who shifts stored bits takes codes of a few bits out of them.
     .integers = IntegerInputs{.computed = InputSet({0}), .passed = InputSet({1})}},
};

}  // namespace

std::span<const OpDef> ElementwiseBinaryOps() { return kElementwiseBinaryOps; }
std::span<const OpDef> PowerOps() { return kPowerOps; }

}  // namespace dlcost
