#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Tokens to the experts that a router chose for them and back, as training frameworks lay them out
// (permute and unpermute of Megatron Core and Transformer Engine): every expert's tokens are rows
// of one block, so that a layer of all experts is one product with a batch of experts. `rows` of an
// expert are the same for all, full or not.
//
// DispatchTokens: tokens [tokens, width], indices [tokens, k] of their experts; attributes experts,
// rows. Output [experts, rows, width]. Every token is read once and written k times.
// CombineTokens: [experts, rows, width], indices, optionally weights [tokens, k]: the weighted sum
// of every token's k rows, k multiplications (with weights) and k - 1 additions per element.
// CombineTokensGrad: gradient [tokens, width], the rows, indices, weights: gradients of the rows, 1
// multiplication per element, and of the weights, a dot product of `width` numbers each.

struct Routed {
  Count tokens, rows;  // rows: that are some token's
  std::int64_t width = 0;
};

Routed RoutedOf(const OpContext& ctx, int indices, std::int64_t width) {
  RequireRank(ctx, indices, 2);
  return {Count(ctx.InputDim(indices, 0)), ctx.InputShape(indices).Elements(), width};
}

void InferDispatch(OpContext& ctx) {
  RequireRank(ctx, 0, 2);
  RequireRank(ctx, 1, 2);
  const std::int64_t experts = ctx.RequiredInt("experts"), rows = ctx.RequiredInt("rows");
  if (experts < 1 || rows < 0) throw Error("{} experts of {} rows", experts, rows);
  ctx.SetOutput(0, ctx.InputType(0), {experts, rows, ctx.InputDim(0, 1)});
}

OpCost CostDispatch(const OpContext& ctx) { return StreamAll(ctx); }

void InferCombine(OpContext& ctx) {
  RequireRank(ctx, 0, 3);
  RequireRank(ctx, 1, 2);
  ctx.SetOutput(0, ctx.InputType(0), {ctx.InputDim(1, 0), ctx.InputDim(0, 2)});
}

OpCost CostCombine(const OpContext& ctx) {
  OpCost cost;
  const Routed routed = RoutedOf(ctx, 1, ctx.InputDim(0, 2));
  const Count elements = routed.rows * routed.width;
  AddPartialRead(cost, ctx, 0, std::min(elements, ctx.InputShape(0).Elements()),
                 AccessKind::kGather);
  AddRead(cost, ctx, 1);
  AddRead(cost, ctx, 2);
  AddWrite(cost, ctx, 0);
  if (ctx.HasInput(2)) cost.work.Add(OpClass::kMul, ctx.InputType(0), elements);
  cost.work.Add(OpClass::kAdd, ctx.InputType(0), Folds(elements, routed.tokens * routed.width));
  cost.nest = ElementwiseNest{routed.tokens * routed.width};
  return cost;
}

void InferCombineGrad(OpContext& ctx) {
  RequireRank(ctx, 1, 3);
  ctx.SetOutput(0, ctx.InputType(1), ctx.InputShape(1));
  ctx.SetOutput(1, ctx.InputType(3), ctx.InputShape(3));
}

OpCost CostCombineGrad(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Routed routed = RoutedOf(ctx, 2, ctx.InputDim(1, 2));
  const Count elements = routed.rows * routed.width;
  const DType type = ctx.InputType(0);
  cost.work.Add(OpClass::kMul, type, elements * (ctx.HasOutput(1) ? 2 : 1));
  if (ctx.HasOutput(1)) cost.work.Add(OpClass::kAdd, type, Folds(elements, routed.rows));
  cost.nest = ElementwiseNest{elements};
  return cost;
}

constexpr OpCase kDispatchCases[] = {{.what = "6 tokens to 2 of 4 experts each",
                                      .attributes = "experts=4 rows=3",
                                      .inputs = "f16[6,8] i64[6,2]",
                                      .outputs = "f16[4,3,8]",
                                      .bytes_read = 6 * 8 * 2 + 12 * 8,
                                      .bytes_written = 12 * 8 * 2}};

constexpr OpCase kCombineCases[] = {{.what = "weighted sums of 2 rows for each of 6 tokens",
                                     .inputs = "f16[4,3,8] i64[6,2] f16[6,2]",
                                     .outputs = "f16[6,8]",
                                     .flops = 12 * 8 + 6 * 8,
                                     .bytes_read = 12 * 8 * 2 + 12 * 8 + 12 * 2,
                                     .bytes_written = 6 * 8 * 2},
                                    {.what = "sums alone; of 16 rows 12 are some token's",
                                     .inputs = "f16[4,4,8] i64[6,2]",
                                     .outputs = "f16[6,8]",
                                     .flops = 6 * 8,
                                     .bytes_read = 12 * 8 * 2 + 12 * 8,
                                     .bytes_written = 6 * 8 * 2}};

constexpr OpCase kCombineGradCases[] = {{.what = "96 products, and 12 dot products of 8",
                                         .inputs = "f16[6,8] f16[4,3,8] i64[6,2] f16[6,2]",
                                         .outputs = "f16[4,3,8] f16[6,2]",
                                         .flops = 96 + 12 * 15,
                                         .bytes_read = 6 * 8 * 2 + 12 * 8 * 2 + 12 * 8 + 12 * 2,
                                         .bytes_written = 12 * 8 * 2 + 12 * 2}};

constexpr OpDef kExpertOps[] = {
    {.name = "DispatchTokens",
     .domain = "dlcost.training",
     .formula = "no work: rows of tokens, expert by expert",
     .infer = InferDispatch,
     .cost = CostDispatch,
     .cases = kDispatchCases},
    {.name = "CombineTokens",
     .domain = "dlcost.training",
     .formula = "tokens * width * (k mul + (k - 1) add)",
     .infer = InferCombine,
     .cost = CostCombine,
     .cases = kCombineCases},
    {.name = "CombineTokensGrad",
     .domain = "dlcost.training",
     .formula = "tokens * k * (width mul + width mul + (width - 1) add)",
     .infer = InferCombineGrad,
     .cost = CostCombineGrad,
     .cases = kCombineGradCases},
};

}  // namespace

std::span<const OpDef> ExpertOps() { return kExpertOps; }

}  // namespace dlcost
