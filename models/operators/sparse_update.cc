#include "models/operators/sparse_update.h"

#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/common.h"

namespace dlcost {
namespace {

// Updates by a sparse gradient: rows, and which rows of the table they belong to, as PyTorch's
// Embedding(sparse=True) leaves it and its SGD and SparseAdam take it. dlcost's own.
// Inputs: rate, count, table [rows, ...], indices, gradient of the rows [indices..., ...], states
// as the table. Outputs: table, states. Counting: rows that occur twice are added up (1 add per
// element); then as the dense update, for at most as many rows as there are indices: SGD 1 mul, 1
// add; Adam 6 mul, 4 add, 1 sqrt, 1 div per element.

constexpr int kTable = 2, kIndices = 3, kRows = 4;

void InferSparseUpdate(OpContext& ctx) {
  for (int out = 0; out < ctx.NumOutputs(); ++out) {
    const int input = out == 0 ? kTable : kRows + out;
    ctx.SetOutput(out, ctx.InputType(input), ctx.InputShape(input));
  }
}

OpCost CostSparseUpdate(const OpContext& ctx, int states, bool adam) {
  RequireInputs(ctx, kRows + 1 + states);
  const Shape& table = ctx.InputShape(kTable);
  if (table.rank() < 1) throw Error("a table without rows");
  const Count width = table.Product(1, table.rank());
  const Count given = ctx.InputShape(kIndices).Elements();
  const Count touched = std::min(given, Count(table[0])) * width;
  OpCost cost;
  for (const int i : {0, 1, kIndices, kRows}) AddRead(cost, ctx, i);
  for (int i = 0; i <= states; ++i) {
    const int input = i == 0 ? kTable : kRows + i;
    AddPartialRead(cost, ctx, input, touched, AccessKind::kGather);
    if (!ctx.HasOutput(i)) continue;
    cost.accesses.push_back({.is_output = true,
                             .operand = i,
                             .kind = AccessKind::kInPlace,
                             .bytes = SizeOf(ctx.InputType(input), touched),
                             .memory_of = input});
  }
  const DType type = ctx.InputType(kTable);
  cost.work.Add(OpClass::kAdd, type, given * width);
  cost.work.Add(OpClass::kMul, type, touched * (adam ? 6 : 1));
  cost.work.Add(OpClass::kAdd, type, touched * (adam ? 4 : 1));
  if (adam) {
    cost.work.Add(OpClass::kSqrt, type, touched);
    cost.work.Add(OpClass::kDiv, type, touched);
  }
  cost.nest = ElementwiseNest{touched};
  return cost;
}

OpCost CostSparseSgd(const OpContext& ctx) { return CostSparseUpdate(ctx, 0, false); }
OpCost CostSparseAdam(const OpContext& ctx) { return CostSparseUpdate(ctx, 2, true); }

constexpr OpCase kSparseSgdCases[] = {
    {.what = "4 of 100 rows of 8",
     .inputs = "f32[] i64[] f32[100,8] i64[2,2] f32[2,2,8]",
     .outputs = "f32[100,8]",
     .flops = 32 * 3,
     .bytes_read = 12 + 128 + 32 + 128,
     .bytes_written = 128},
};
constexpr OpCase kSparseAdamCases[] = {
    {.what = "more indices than rows: each row once",
     .inputs = "f32[] i64[] f32[3,8] i64[5] f32[5,8] f32[3,8] f32[3,8]",
     .outputs = "f32[3,8] f32[3,8] f32[3,8]",
     .flops = 40 + 24 * 12,
     .bytes_read = 12 + 40 + 160 + 3 * 96,
     .bytes_written = 3 * 96},
};

constexpr OpDef kSparseUpdateOps[] = {
    {.name = "SparseSgd",
     .domain = "dlcost.training",
     .formula = "1 add per element of the rows; 1 mul, 1 add per element that changes",
     .infer = InferSparseUpdate,
     .cost = CostSparseSgd,
     .cases = kSparseSgdCases},
    {.name = "SparseAdam",
     .domain = "dlcost.training",
     .formula =
         "1 add per element of the rows; 6 mul, 4 add, 1 sqrt, 1 div per element that changes",
     .infer = InferSparseUpdate,
     .cost = CostSparseAdam,
     .cases = kSparseAdamCases},
};

}  // namespace

std::span<const OpDef> SparseUpdateOps() { return kSparseUpdateOps; }

}  // namespace dlcost
