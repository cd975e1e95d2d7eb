#include <algorithm>
#include <cmath>

#include "estimator/core/error.h"
#include "models/operators/elementwise.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Before opset 8 all inputs have one shape; since then they broadcast.
void InferVariadic(OpContext& ctx) {
  RequireInputs(ctx, 1);
  ctx.SetOutputType(0, ctx.InputType(0));
  Shape result = ctx.InputShape(0);
  for (int i = 1; i < ctx.NumInputs(); ++i) {
    if (ctx.InputType(i) != ctx.InputType(0)) {
      throw Error("input {} is {}, input 0 is {}", i, Name(ctx.InputType(i)),
                  Name(ctx.InputType(0)));
    }
    if (ctx.opset() < 8 && ctx.InputShape(i) != result) {
      throw Error("shapes {} and {} differ, which opset 8 is the first to allow", ToString(result),
                  ToString(ctx.InputShape(i)));
    }
    result = Broadcast(result, ctx.InputShape(i));
  }
  ctx.SetOutput(0, ctx.InputType(0), std::move(result));
}

OpCost CostFold(const OpContext& ctx, PerElement once, PerElement per_further_input) {
  if (ctx.NumInputs() == 1) return CostView(ctx);
  OpCost cost = CostPerElement(ctx, once);
  AddPerElement(cost.work, per_further_input, ctx.InputType(0),
                ctx.OutputShape(0).Elements() * Count(ctx.NumInputs() - 1));
  return cost;
}

OpCost CostSum(const OpContext& ctx) { return CostFold(ctx, {}, {.add = 1}); }
OpCost CostMean(const OpContext& ctx) { return CostFold(ctx, {.mul = 1}, {.add = 1}); }
OpCost CostExtreme(const OpContext& ctx) { return CostFold(ctx, {}, {.compare = 1}); }

void SumValues(OpContext& ctx) {
  FoldInputs(
      ctx, [](double a, double b) { return a + b; },
      [](std::int64_t a, std::int64_t b) -> MaybeInt { return WrapAdd(a, b); });
}

void MaxValues(OpContext& ctx) {
  FoldInputs(
      ctx, [](double a, double b) { return std::fmax(a, b); },
      [](std::int64_t a, std::int64_t b) -> MaybeInt { return std::max(a, b); });
}

void MinValues(OpContext& ctx) {
  FoldInputs(
      ctx, [](double a, double b) { return std::fmin(a, b); },
      [](std::int64_t a, std::int64_t b) -> MaybeInt { return std::min(a, b); });
}

// [2,3] with itself and a row: 6 outputs, 2 operations each; 24 + 24 + 12 bytes read.
constexpr OpCase ThreeInputs(std::int64_t flops) {
  return {.what = "three inputs, the last one broadcast",
          .inputs = "f32[2,3] f32[2,3] f32[3]",
          .outputs = "f32[2,3]",
          .flops = flops,
          .bytes_read = 60,
          .bytes_written = 24};
}

constexpr OpCase kSumCases[] = {ThreeInputs(12)};
constexpr OpCase kMeanCases[] = {ThreeInputs(18)};
constexpr OpCase kMaxCases[] = {ThreeInputs(12),
                                {.what = "known values",
                                 .inputs = "i64[2]{1,5} i64[1]{3}",
                                 .outputs = "i64[2]{3,5}",
                                 .flops = 2,
                                 .bytes_read = 24,
                                 .bytes_written = 16}};
constexpr OpCase kMinCases[] = {ThreeInputs(12)};

constexpr OpDef kVariadicOps[] = {
    {.name = "Sum",
     .since = {1, 6, 8, 13},
     .formula = "(inputs - 1) adds per element of the output",
     .infer = InferVariadic,
     .values = SumValues,
     .cost = CostSum,
     .role = FusionRole::kElementwise,
     .cases = kSumCases},
    {.name = "Mean",
     .since = {1, 6, 8, 13},
     .formula = "(inputs - 1) adds and 1 mul per element of the output",
     .infer = InferVariadic,
     .cost = CostMean,
     .role = FusionRole::kElementwise,
     .cases = kMeanCases},
    {.name = "Max",
     .since = {1, 6, 8, 12, 13},
     .formula = "(inputs - 1) compares per element of the output",
     .infer = InferVariadic,
     .values = MaxValues,
     .cost = CostExtreme,
     .role = FusionRole::kElementwise,
     .cases = kMaxCases},
    {.name = "Min",
     .since = {1, 6, 8, 12, 13},
     .formula = "(inputs - 1) compares per element of the output",
     .infer = InferVariadic,
     .values = MinValues,
     .cost = CostExtreme,
     .role = FusionRole::kElementwise,
     .cases = kMinCases},
};

}  // namespace

std::span<const OpDef> VariadicOps() { return kVariadicOps; }

}  // namespace dlcost
