#include "models/operators/transpose.h"

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"
#include "models/operators/value_ops.h"

namespace dlcost {

std::vector<std::int64_t> PermutationOf(const OpContext& ctx) {
  const std::size_t rank = ctx.InputShape(0).rank();
  std::vector<std::int64_t> reversed;
  for (std::size_t axis = rank; axis-- > 0;) reversed.push_back(static_cast<std::int64_t>(axis));
  std::vector<std::int64_t> perm = ctx.Ints("perm", reversed);
  std::vector<bool> seen(rank, false);
  for (const std::int64_t axis : perm) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank) ||
        seen[static_cast<std::size_t>(axis)]) {
      throw Error("perm {} is no permutation of {} axes", ToString(Shape(perm)), rank);
    }
    seen[static_cast<std::size_t>(axis)] = true;
  }
  if (perm.size() != rank) {
    throw Error("perm {} is no permutation of {} axes", ToString(Shape(perm)), rank);
  }
  return perm;
}

namespace {

void InferTranspose(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& x = ctx.InputShape(0);
  Shape y;
  for (const std::int64_t axis : PermutationOf(ctx)) y.Append(x[static_cast<std::size_t>(axis)]);
  ctx.SetOutput(0, ctx.InputType(0), std::move(y));
}

void TransposeValues(OpContext& ctx) {
  if (ctx.InputValue(0) == nullptr) return;
  const std::vector<std::int64_t> perm = PermutationOf(ctx);
  const std::vector<std::int64_t> strides = RowMajorStrides(ctx.InputShape(0));
  Indices indices;
  ForEachElement(ctx.OutputShape(0), [&](const std::vector<std::int64_t>& at) {
    std::int64_t flat = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      flat += at[i] * strides[static_cast<std::size_t>(perm[i])];
    }
    indices.push_back(static_cast<std::size_t>(flat));
  });
  SetTaken(ctx, indices);
}

// Where only axes of extent 1 move, the data stays where it is.
OpCost CostTranspose(const OpContext& ctx) {
  const Shape& x = ctx.InputShape(0);
  std::int64_t last = -1;
  bool in_order = true;
  for (const std::int64_t axis : PermutationOf(ctx)) {
    if (x[static_cast<std::size_t>(axis)] == 1) continue;
    in_order = in_order && axis > last;
    last = axis;
  }
  if (in_order) return CostView(ctx);
  OpCost cost;
  AddRead(cost, ctx, 0, AccessKind::kStrided);
  AddWrite(cost, ctx, 0);
  return cost;
}

std::int64_t BlockSize(const OpContext& ctx) {
  const std::int64_t block = ctx.RequiredInt("blocksize");
  if (block < 1) throw Error("blocksize is {}", block);
  RequireRank(ctx, 0, 4);
  return block;
}

void InferDepthToSpace(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& x = ctx.InputShape(0);
  const Count block = BlockSize(ctx);
  if (Count(x[1]) % (block * block) != Count(0)) {
    throw Error("{} channels do not divide into blocks of {} x {}", x[1], block, block);
  }
  ctx.SetOutput(0, ctx.InputType(0),
                Shape{x[0], (Count(x[1]) / (block * block)).value(), (block * x[2]).value(),
                      (block * x[3]).value()});
}

void InferSpaceToDepth(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& x = ctx.InputShape(0);
  const std::int64_t block = BlockSize(ctx);
  if (x[2] % block != 0 || x[3] % block != 0) {
    throw Error("{} x {} does not divide into blocks of {}", x[2], x[3], block);
  }
  ctx.SetOutput(0, ctx.InputType(0),
                Shape{x[0], (Count(x[1]) * block * block).value(), x[2] / block, x[3] / block});
}

OpCost CostBlocks(const OpContext& ctx) {
  if (BlockSize(ctx) == 1) return CostView(ctx);
  OpCost cost;
  AddRead(cost, ctx, 0, AccessKind::kStrided);
  AddWrite(cost, ctx, 0);
  return cost;
}

// Keeps one side of the diagonal k of each matrix; the other side becomes 0.
void InferTrilu(OpContext& ctx) {
  InferSameAsInput(ctx);
  if (ctx.InputShape(0).rank() < 2) throw Error("a triangle needs a matrix");
}

void TriluValues(OpContext& ctx) {
  const Value* x = ctx.InputValue(0);
  if (x == nullptr || (ctx.HasInput(1) && ctx.InputValue(1) == nullptr)) return;
  const std::int64_t k = ctx.HasInput(1) ? ScalarInput(ctx, 1) : 0;
  const bool upper = ctx.Int("upper", 1) != 0;
  std::vector<std::int64_t> ints;
  std::vector<double> reals;
  std::size_t flat = 0;
  ForEachElement(ctx.OutputShape(0), [&](const std::vector<std::int64_t>& at) {
    const std::int64_t diagonal = at[at.size() - 1] - at[at.size() - 2];
    const bool keep = upper ? diagonal >= k : diagonal <= k;
    if (x->is_integer()) {
      ints.push_back(keep ? x->ints().at(flat) : 0);
    } else {
      reals.push_back(keep ? x->reals().at(flat) : 0);
    }
    ++flat;
  });
  if (x->is_integer()) {
    SetInts(ctx, 0, std::move(ints));
  } else {
    SetReals(ctx, 0, std::move(reals));
  }
}

OpCost CostTrilu(const OpContext& ctx) { return StreamFirst(ctx, 1); }

constexpr OpCase kTransposeCases[] = {
    {.what = "heads to the front",
     .attributes = "perm=[0,2,1,3]",
     .inputs = "f32[1,8,4,16]",
     .outputs = "f32[1,4,8,16]",
     .bytes_read = 2048,
     .bytes_written = 2048},
    {.what = "only an axis of extent 1 moves: a view",
     .attributes = "perm=[0,2,1,3]",
     .inputs = "f32[1,1,4,16]",
     .outputs = "f32[1,4,1,16]"},
    {.what = "reversed by default",
     .inputs = "i64[2,3]{1,2,3,4,5,6}",
     .outputs = "i64[3,2]{1,4,2,5,3,6}",
     .bytes_read = 48,
     .bytes_written = 48},
};
constexpr OpCase kDepthToSpaceCases[] = {{.what = "pixel shuffle",
                                          .attributes = "blocksize=2",
                                          .inputs = "f32[1,8,3,3]",
                                          .outputs = "f32[1,2,6,6]",
                                          .bytes_read = 288,
                                          .bytes_written = 288}};
constexpr OpCase kSpaceToDepthCases[] = {{.what = "blocks become channels",
                                          .attributes = "blocksize=2",
                                          .inputs = "f32[1,2,6,4]",
                                          .outputs = "f32[1,8,3,2]",
                                          .bytes_read = 192,
                                          .bytes_written = 192}};
constexpr OpCase kReverseSequenceCases[] = {{.what = "rows to their own lengths",
                                             .inputs = "f32[4,3] i64[3]",
                                             .outputs = "f32[4,3]",
                                             .bytes_read = 72,
                                             .bytes_written = 48}};
constexpr OpCase kTriluCases[] = {{.what = "a causal mask",
                                   .attributes = "upper=0",
                                   .inputs = "i64[2,2]{1,1,1,1}",
                                   .outputs = "i64[2,2]{1,0,1,1}",
                                   .bytes_read = 32,
                                   .bytes_written = 32}};

constexpr std::string_view kMoves = "no arithmetic; reads and writes every element";

constexpr OpDef kTransposeOps[] = {
    {.name = "Transpose",
     .since = {1, 13, 21, 23, 24, 25},
     .formula = "no arithmetic; reads and writes every element; a view where only axes of 1 move",
     .infer = InferTranspose,
     .values = TransposeValues,
     .cost = CostTranspose,
     .role = FusionRole::kMovement,
     .cases = kTransposeCases},
    {.name = "DepthToSpace",
     .since = {1, 11, 13, 28},
     .formula = kMoves,
     .infer = InferDepthToSpace,
     .cost = CostBlocks,
     .role = FusionRole::kMovement,
     .cases = kDepthToSpaceCases},
    {.name = "SpaceToDepth",
     .since = {1, 13, 28},
     .formula = kMoves,
     .infer = InferSpaceToDepth,
     .cost = CostBlocks,
     .role = FusionRole::kMovement,
     .cases = kSpaceToDepthCases},
    {.name = "ReverseSequence",
     .since = {10, 28},
     .formula = kMoves,
     .infer = InferSameAsInput,
     .cost = CostMove,
     .role = FusionRole::kMovement,
     .cases = kReverseSequenceCases},
    {.name = "Trilu",
     .since = {14},
     .formula = kMoves,
     .infer = InferTrilu,
     .values = TriluValues,
     .cost = CostTrilu,
     .role = FusionRole::kMovement,
     .cases = kTriluCases},
};

}  // namespace

std::span<const OpDef> TransposeOps() { return kTransposeOps; }

}  // namespace dlcost
