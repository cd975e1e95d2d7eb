#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"
#include "models/operators/step_op.h"

namespace dlcost {
namespace {

// Muon in two nodes around products: MuonMomentum takes gradients and momenta to updates in
// bfloat16, divided by their norms, and new momenta: a mix into the momentum and one of both (2
// mul, 4 add), the norm (1 mul, 1 add; per tensor 1 sqrt, 1 div), division and conversion (1 mul, 1
// convert). Inputs: gradients, momenta; outputs: updates, momenta. MuonUpdate: weights decay (1
// mul) and move by rate and shape's factor times the orthogonal update (1 mul, 1 add). Inputs:
// rate, weights, updates.
void InferMuonMomentum(OpContext& ctx) {
  const int tensors = ctx.NumInputs() / 2;
  for (int i = 0; i < tensors && tensors + i < ctx.NumInputs(); ++i) {
    ctx.SetOutput(i, DType::kBfloat16, ctx.InputShape(i));
    ctx.SetOutput(tensors + i, ctx.InputType(tensors + i), ctx.InputShape(tensors + i));
  }
}

OpCost CostMuonMomentum(const OpContext& ctx) {
  if (ctx.NumInputs() == 0 || ctx.NumInputs() % 2 != 0) {
    throw Error("{} inputs are not gradients and as many momenta", ctx.NumInputs());
  }
  const int tensors = ctx.NumInputs() / 2;
  OpCost cost = StreamAll(ctx);
  for (Access& access : cost.accesses) {
    if (!access.is_output || access.operand < tensors) continue;
    access.kind = AccessKind::kInPlace;
    access.memory_of = access.operand;
  }
  const DType type = ctx.InputType(tensors);
  const Count elements = ElementsOfInputs(ctx, 0, tensors);
  cost.work.Add(OpClass::kMul, type, elements * 4);
  cost.work.Add(OpClass::kAdd, type, elements * 5);
  cost.work.Add(OpClass::kConvert, type, elements);
  cost.work.Add(OpClass::kSqrt, type, tensors);
  cost.work.Add(OpClass::kDiv, type, tensors);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

void InferMuonUpdate(OpContext& ctx) {
  const int tensors = (ctx.NumInputs() - 1) / 2;
  for (int i = 0; i < tensors; ++i) ctx.SetOutput(i, ctx.InputType(1 + i), ctx.InputShape(1 + i));
}

OpCost CostMuonUpdate(const OpContext& ctx) {
  if (ctx.NumInputs() < 3 || ctx.NumInputs() % 2 == 0) {
    throw Error("{} inputs are not a rate, weights and as many updates", ctx.NumInputs());
  }
  OpCost cost = StreamAll(ctx);
  for (Access& access : cost.accesses) {
    if (!access.is_output) continue;
    access.kind = AccessKind::kInPlace;
    access.memory_of = 1 + access.operand;
  }
  const Count elements = ElementsOfInputs(ctx, 1, 1 + (ctx.NumInputs() - 1) / 2);
  cost.work.Add(OpClass::kMul, ctx.InputType(1), elements * 2);
  cost.work.Add(OpClass::kAdd, ctx.InputType(1), elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

constexpr OpCase kMuonMomentumCases[] = {
    {.what = "two tensors; 1 sqrt and 1 div each",
     .inputs = "f32[2,3] f32[4,1] f32[2,3] f32[4,1]",
     .outputs = "bf16[2,3] bf16[4,1] f32[2,3] f32[4,1]",
     .flops = 10 * 9 + 2 * 2,
     .bytes_read = 80,
     .bytes_written = 20 + 40},
};
constexpr OpCase kMuonUpdateCases[] = {
    {.what = "a matrix",
     .inputs = "f32[] f32[2,3] bf16[2,3]",
     .outputs = "f32[2,3]",
     .flops = 6 * 3,
     .bytes_read = 4 + 24 + 12,
     .bytes_written = 24},
};

constexpr OpDef kMuonOps[] = {
    StepOp("MuonMomentum", "4 mul, 5 add, 1 convert per element; 1 sqrt, 1 div per tensor",
           InferMuonMomentum, CostMuonMomentum, kMuonMomentumCases),
    StepOp("MuonUpdate", "2 mul, 1 add per element", InferMuonUpdate, CostMuonUpdate,
           kMuonUpdateCases),
};

}  // namespace

std::span<const OpDef> MuonOps() { return kMuonOps; }

}  // namespace dlcost
