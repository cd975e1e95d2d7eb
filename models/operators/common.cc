#include "models/operators/common.h"

#include <algorithm>

#include "estimator/core/error.h"

namespace dlcost {

void AddRead(OpCost& cost, const OpContext& ctx, int i, AccessKind kind) {
  if (ctx.HasInput(i)) cost.accesses.push_back({false, i, kind, ctx.InputBytes(i)});
}

void AddWrite(OpCost& cost, const OpContext& ctx, int i, AccessKind kind) {
  if (ctx.HasOutput(i)) cost.accesses.push_back({true, i, kind, ctx.OutputBytes(i)});
}

void AddPartialRead(OpCost& cost, const OpContext& ctx, int i, Count elements, AccessKind kind) {
  if (ctx.HasInput(i)) {
    cost.accesses.push_back({false, i, kind, SizeOf(ctx.InputType(i), elements)});
  }
}

Count PlaneElements(const Shape& x) {
  return x.Product(std::min<std::size_t>(2, x.rank()), x.rank());
}

void AddHeld(OpCost& cost, Count numbers, Bytes bytes, Bytes read) {
  cost.held_parameters += numbers;
  cost.held_bytes += bytes;
  cost.accesses.push_back({false, Access::kAttributes, AccessKind::kStream, read});
}

OpCost StreamAll(const OpContext& ctx) {
  OpCost cost;
  cost.accesses.reserve(static_cast<std::size_t>(ctx.NumInputs()) +
                        static_cast<std::size_t>(ctx.NumOutputs()));
  for (int i = 0; i < ctx.NumInputs(); ++i) AddRead(cost, ctx, i);
  for (int i = 0; i < ctx.NumOutputs(); ++i) AddWrite(cost, ctx, i);
  return cost;
}

OpCost StreamFirst(const OpContext& ctx, int inputs) {
  OpCost cost;
  for (int i = 0; i < inputs; ++i) AddRead(cost, ctx, i);
  for (int i = 0; i < ctx.NumOutputs(); ++i) AddWrite(cost, ctx, i);
  return cost;
}

OpCost CostView(const OpContext&) {
  OpCost cost;
  cost.status = NodeStatus::kView;
  return cost;
}

OpCost CostMetadata(const OpContext&) {
  OpCost cost;
  cost.status = NodeStatus::kMetadata;
  return cost;
}

OpCost CostMove(const OpContext& ctx) { return StreamAll(ctx); }

void InferSameAsInput(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), ctx.InputShape(0));
}

void ValuesSameAsInput(OpContext& ctx) { ctx.SetOutputValue(0, ctx.SharedInputValue(0)); }

void RequireRank(const OpContext& ctx, int input, int rank) {
  if (ctx.InputRank(input) != rank) {
    throw Error("input {} has rank {} where {} is required", input, ctx.InputRank(input), rank);
  }
}

void RequireInputs(const OpContext& ctx, int at_least) {
  for (int i = 0; i < at_least; ++i) {
    if (!ctx.HasInput(i)) throw Error("input {} is missing", i);
  }
}

}  // namespace dlcost
