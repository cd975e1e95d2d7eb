#include "models/sharding/sharding.h"

namespace dlcost {
namespace {

// Products: rows and columns stay what they are, what is contracted leaves parts of sums.

// The axes of `input` before its last two, aligned with those of the result before `last`.
void AlignBatch(ShardingContext& c, std::size_t input, std::size_t last) {
  const std::size_t rank = c.Rank(input);
  for (std::size_t i = 0; i + 2 < rank && i < last; ++i) {
    const Axis& axis = c.In(input, rank - 3 - i);
    if (c.factors().SizeOf(axis) == c.OutSize(0, last - 1 - i)) c.Out(0, last - 1 - i, axis);
  }
}

// The last axes of `a` and `b` multiplied, those before broadcast.
void Multiply(ShardingContext& c, std::size_t a, std::size_t b) {
  const std::size_t rank_a = c.Rank(a), rank_b = c.Rank(b), out = c.OutRank(0);
  if (rank_a == 0 || rank_b == 0) return;
  const Axis& inner = c.In(a, rank_a - 1);
  c.Tie(inner, c.In(b, rank_b == 1 ? 0 : rank_b - 2));
  c.Sum(inner);
  std::size_t last = out;
  if (rank_b > 1) c.Out(0, --last, c.In(b, rank_b - 1));
  if (rank_a > 1) c.Out(0, --last, c.In(a, rank_a - 2));
  AlignBatch(c, a, last);
  AlignBatch(c, b, last);
}

void MatMul(ShardingContext& c) { Multiply(c, 0, 1); }

void Gemm(ShardingContext& c) {
  const bool a = c.op().Int("transA", 0) != 0, b = c.op().Int("transB", 0) != 0;
  const Axis& inner = c.In(0, a ? 0 : 1);
  c.Tie(inner, c.In(1, b ? 1 : 0));
  c.Sum(inner);
  c.Out(0, 0, c.In(0, a ? 1 : 0));
  c.Out(0, 1, c.In(1, b ? 0 : 1));
  if (c.Has(2)) c.Align(2);
}

// com.microsoft FusedMatMul: either operand may be transposed.
void FusedMatMul(ShardingContext& c) {
  const std::size_t rank_a = c.Rank(0), rank_b = c.Rank(1), out = c.OutRank(0);
  const bool a = c.op().Int("transA", 0) != 0, b = c.op().Int("transB", 0) != 0;
  if (rank_a < 2 || rank_b < 2 || c.op().Int("transBatchA", 0) != 0 ||
      c.op().Int("transBatchB", 0) != 0) {
    return c.WholeInputs();
  }
  const Axis& inner = c.In(0, rank_a - (a ? 2 : 1));
  c.Tie(inner, c.In(1, rank_b - (b ? 1 : 2)));
  c.Sum(inner);
  c.Out(0, out - 1, c.In(1, rank_b - (b ? 2 : 1)));
  c.Out(0, out - 2, c.In(0, rank_a - (a ? 1 : 2)));
  for (const std::size_t input : {0, 1}) AlignBatch(c, input, out - 2);
}

constexpr ShardingDef kProductShardings[] = {
    {"MatMul", MatMul}, {"Gemm", Gemm}, {"FusedMatMul", FusedMatMul, "com.microsoft"}};

}  // namespace

std::span<const ShardingDef> ProductShardings() { return kProductShardings; }

}  // namespace dlcost
