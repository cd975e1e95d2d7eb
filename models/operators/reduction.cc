#include <algorithm>
#include <array>

#include "estimator/core/error.h"
#include "models/operators/elementwise.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// The operators that reduce axes: what each input element costs, what combining two costs, what
// each result costs at the end.
struct ReduceOp {
  std::string_view name;
  Versions since;
  std::string_view formula;
  int axes_input_since;
  PerElement per_input, per_combination, per_output;
  double (*combine)(double, double) = nullptr;  // for values; null: none
  BinaryInt combine_ints = nullptr;
  OpCase example;
};

// Which axes go. None with noop_with_empty_axes: then every element is reduced alone.
std::vector<bool> ReducedAxes(const OpContext& ctx, int axes_input_since) {
  const std::size_t rank = ctx.InputShape(0).rank();
  std::vector<std::int64_t> axes;
  if (ctx.opset() < axes_input_since || ctx.HasAttribute("axes")) {
    axes = ctx.Ints("axes");
  } else if (ctx.HasInput(1)) {
    axes = ctx.InputInts(1);
  }
  const bool noop = ctx.opset() >= axes_input_since && ctx.Int("noop_with_empty_axes", 0) != 0;
  std::vector<bool> reduced(rank, axes.empty() && !noop);
  for (const std::int64_t axis : axes) reduced[NormalizeAxis(axis, rank)] = true;
  return reduced;
}

Shape ReducedShape(const Shape& x, const std::vector<bool>& axes, bool keep) {
  Shape y;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (!axes[i]) {
      y.Append(x[i]);
    } else if (keep) {
      y.Append(1);
    }
  }
  return y;
}

void InferReduce(OpContext& ctx, const ReduceOp& op) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0),
                ReducedShape(ctx.InputShape(0), ReducedAxes(ctx, op.axes_input_since),
                             ctx.Int("keepdims", 1) != 0));
}

void ReduceValues(OpContext& ctx, const ReduceOp& op) {
  const Value* x = ctx.InputValue(0);
  if (x == nullptr || op.combine == nullptr || x->size() == 0) return;
  const std::vector<bool> reduced = ReducedAxes(ctx, op.axes_input_since);
  const std::vector<std::int64_t> strides =
      RowMajorStrides(ReducedShape(ctx.InputShape(0), reduced, true));
  const auto results = static_cast<std::size_t>(ctx.OutputShape(0).Elements().value());
  std::vector<double> reals(results);
  std::vector<std::int64_t> ints(results);
  std::vector<bool> started(results, false);
  std::size_t from = 0;
  ForEachElement(ctx.InputShape(0), [&](const std::vector<std::int64_t>& at) {
    std::int64_t flat = 0;
    for (std::size_t i = 0; i < at.size(); ++i) flat += reduced[i] ? 0 : at[i] * strides[i];
    const auto to = static_cast<std::size_t>(flat);
    if (x->is_integer()) {
      const std::int64_t value = x->ints()[from++];
      ints[to] = started[to] ? *op.combine_ints(ints[to], value) : value;
    } else {
      const double value = x->reals()[from++];
      reals[to] = started[to] ? op.combine(reals[to], value) : value;
    }
    started[to] = true;
  });
  if (op.name == "ReduceMean") {
    const auto count = static_cast<std::int64_t>(x->size() / results);
    for (double& real : reals) real /= static_cast<double>(count);
    for (std::int64_t& integer : ints) integer /= count;
  }
  if (x->is_integer()) {
    SetInts(ctx, 0, std::move(ints));
  } else {
    SetReals(ctx, 0, std::move(reals));
  }
}

OpCost CostReduce(const OpContext& ctx, const ReduceOp& op) {
  const Count elements = ctx.InputShape(0).Elements();
  const Count results = ctx.OutputShape(0).Elements();
  OpCost cost = StreamFirst(ctx, 1);
  if (elements == Count(0)) return cost;
  const DType type = ctx.InputType(0);
  AddPerElement(cost.work, op.per_input, type, elements);
  AddPerElement(cost.work, op.per_combination, type, elements - results);
  // The mean of one element is that element.
  const bool averages_one = op.name == "ReduceMean" && elements == results;
  if (!averages_one) AddPerElement(cost.work, op.per_output, type, results);
  if (cost.work.empty()) return CostView(ctx);  // axes of extent 1 alone
  cost.nest = ReduceNest{results, elements / results};
  return cost;
}

// [2,4] over its last axis: 8 inputs, 2 results, 6 combinations; 32 bytes in, 8 out.
constexpr OpCase RowsOfFour(std::int64_t flops) {
  return {.what = "rows of 4, opset 11",
          .attributes = "axes=[1] keepdims=0",
          .inputs = "f32[2,4]",
          .outputs = "f32[2]",
          .flops = flops,
          .bytes_read = 32,
          .bytes_written = 8,
          .opset = 11};
}

double AddReals(double a, double b) { return a + b; }
MaybeInt AddInts(std::int64_t a, std::int64_t b) { return WrapAdd(a, b); }

constexpr ReduceOp kReductionTable[] = {
    {.name = "ReduceSum",
     .since = {1, 11, 13},
     .formula = "adds = inputs - outputs",
     .axes_input_since = 13,
     .per_combination = {.add = 1},
     .combine = AddReals,
     .combine_ints = AddInts,
     .example = {.what = "axes as an input",
                 .inputs = "f32[2,4] i64[1]{-1}",
                 .outputs = "f32[2,1]",
                 .flops = 6,
                 .bytes_read = 32,
                 .bytes_written = 8}},
    {.name = "ReduceMean",
     .since = {1, 11, 13, 18},
     .formula = "adds = inputs - outputs; mul = outputs",
     .axes_input_since = 18,
     .per_combination = {.add = 1},
     .per_output = {.mul = 1},
     .combine = AddReals,
     .combine_ints = AddInts,
     .example = RowsOfFour(8)},
    {.name = "ReduceMax",
     .since = {1, 11, 12, 13, 18, 20},
     .formula = "compares = inputs - outputs",
     .axes_input_since = 18,
     .per_combination = {.compare = 1},
     .combine = [](double a, double b) { return std::max(a, b); },
     .combine_ints = [](std::int64_t a, std::int64_t b) -> MaybeInt { return std::max(a, b); },
     .example = RowsOfFour(6)},
    {.name = "ReduceMin",
     .since = {1, 11, 12, 13, 18, 20},
     .formula = "compares = inputs - outputs",
     .axes_input_since = 18,
     .per_combination = {.compare = 1},
     .combine = [](double a, double b) { return std::min(a, b); },
     .combine_ints = [](std::int64_t a, std::int64_t b) -> MaybeInt { return std::min(a, b); },
     .example = RowsOfFour(6)},
    {.name = "ReduceProd",
     .since = {1, 11, 13, 18},
     .formula = "mul = inputs - outputs",
     .axes_input_since = 18,
     .per_combination = {.mul = 1},
     .combine = [](double a, double b) { return a * b; },
     .combine_ints = [](std::int64_t a, std::int64_t b) -> MaybeInt { return WrapMul(a, b); },
     .example = {.what = "the elements of a shape",
                 .attributes = "keepdims=0",
                 .inputs = "i64[3]{2,3,4}",
                 .outputs = "i64[]{24}",
                 .bytes_read = 24,
                 .bytes_written = 8}},
    {.name = "ReduceL1",
     .since = {1, 11, 13, 18},
     .formula = "compares = inputs; adds = inputs - outputs",
     .axes_input_since = 18,
     .per_input = {.compare = 1},
     .per_combination = {.add = 1},
     .example = RowsOfFour(14)},
    {.name = "ReduceL2",
     .since = {1, 11, 13, 18},
     .formula = "mul = inputs; adds = inputs - outputs; sqrt = outputs",
     .axes_input_since = 18,
     .per_input = {.mul = 1},
     .per_combination = {.add = 1},
     .per_output = {.sqrt = 1},
     .example = RowsOfFour(16)},
    {.name = "ReduceSumSquare",
     .since = {1, 11, 13, 18},
     .formula = "mul = inputs; adds = inputs - outputs",
     .axes_input_since = 18,
     .per_input = {.mul = 1},
     .per_combination = {.add = 1},
     .example = RowsOfFour(14)},
    {.name = "ReduceLogSum",
     .since = {1, 11, 13, 18, 28},
     .formula = "adds = inputs - outputs; log = outputs",
     .axes_input_since = 18,
     .per_combination = {.add = 1},
     .per_output = {.log = 1},
     .example = RowsOfFour(6)},
    {.name = "ReduceLogSumExp",
     .since = {1, 11, 13, 18, 28},
     .formula = "exp = inputs; adds = inputs - outputs; log = outputs",
     .axes_input_since = 18,
     .per_input = {.exp = 1},
     .per_combination = {.add = 1},
     .per_output = {.log = 1},
     .example = RowsOfFour(6)},
};

template <std::size_t kIndex>
constexpr OpDef MakeOp() {
  return {.name = kReductionTable[kIndex].name,
          .since = kReductionTable[kIndex].since,
          .formula = kReductionTable[kIndex].formula,
          .infer = [](OpContext& ctx) { InferReduce(ctx, kReductionTable[kIndex]); },
          .values = [](OpContext& ctx) { ReduceValues(ctx, kReductionTable[kIndex]); },
          .cost = [](const OpContext& ctx) { return CostReduce(ctx, kReductionTable[kIndex]); },
          .role = FusionRole::kReduction,
          .cases = {&kReductionTable[kIndex].example, 1}};
}

constexpr auto kReductionOps = []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
  return std::array{MakeOp<kIndex>()...};
}
(std::make_index_sequence<std::size(kReductionTable)>{});

}  // namespace

std::span<const OpDef> ReductionOps() { return kReductionOps; }

}  // namespace dlcost
