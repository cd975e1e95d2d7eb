#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"
#include "models/operators/recurrent.h"

namespace dlcost {
namespace {

// The way back through the steps of a recurrent layer: dlcost's own, as ONNX has none. What the
// layer's products with whole sequences need, gradients of input, weights and biases, are products
// of their own behind it.
// Inputs: R [D, gates*h, h]; Y [S, D, N, h]; what LSTMTraining and GRUTraining keep of the gates
// [S, D, N, 4*h] (RNN: none); LSTM: cell states [S, D, N, h]; initial_h, initial_c [D, N, h] or
// none; gradients of Y, Y_h, Y_c, each or none. Outputs: gradient of the gates before their
// activations; GRU: of their recurrent half; of initial_h, initial_c. Counting: gates * h MACs per
// unit and step, the first step only where initial_h wants a gradient. Per unit and step, as the
// derivatives are written: LSTM 16 mul, 7 add, 1 tanh; GRU (linear before reset) 12 mul, 7 add; RNN
// 2 mul, 2 add.

struct Backward {
  std::string_view cell;
  std::int64_t gates, mul, add, trig;
};
constexpr Backward kCells[] = {{"LSTM", 4, 16, 7, 1}, {"GRU", 3, 12, 7, 0}, {"RNN", 1, 2, 2, 0}};

const Backward& CellOf(const OpContext& ctx) {
  const std::string name = ctx.String("cell", "");
  for (const Backward& cell : kCells) {
    if (cell.cell == name) return cell;
  }
  throw Error("cell '{}' is not one of LSTM, GRU, RNN", Printable(name));
}

void InferRecurrentGrad(OpContext& ctx) {
  const Backward& cell = CellOf(ctx);
  const DType type = ctx.InputType(1);
  const Shape& y = ctx.InputShape(1);
  RequireRank(ctx, 1, 4);
  const Shape gates = {y[0], y[1], y[2], (Count(cell.gates) * y[3]).value()};
  for (const int i : {0, 1}) ctx.SetOutput(i, type, gates);
  for (const int i : {2, 3}) ctx.SetOutput(i, type, {y[1], y[2], y[3]});
}

OpCost CostRecurrentGrad(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Backward& cell = CellOf(ctx);
  const DType type = ctx.InputType(1);
  const Shape& y = ctx.InputShape(1);
  const std::int64_t products = ctx.HasOutput(2) ? y[0] : std::max<std::int64_t>(0, y[0] - 1);
  const RecurrentNest nest{.directions = y[1],
                           .steps = products,
                           .batch = y[2],
                           .input = 0,
                           .hidden = y[3],
                           .gates = cell.gates,
                           .cell = cell.cell};
  cost.work.Add(OpClass::kMac, type, MacsOf(nest));
  const Count units = y.Elements();
  cost.work.Add(OpClass::kMul, type, units * cell.mul);
  cost.work.Add(OpClass::kAdd, type, units * cell.add);
  cost.work.Add(OpClass::kTrig, type, units * cell.trig);
  cost.nest = nest;
  return cost;
}

// 7 steps, 2 samples, 5 units: 6 products of 2 * 20 * 5; 70 unit steps.
constexpr OpCase kCases[] = {
    {.what = "LSTM, from the gradient of all outputs",
     .attributes = "cell='LSTM'",
     .inputs = "w:f32[1,20,5] f32[7,1,2,5] f32[7,1,2,20] f32[7,1,2,5] _ _ f32[7,1,2,5]",
     .outputs = "f32[7,1,2,20]",
     .macs = 1200,
     .flops = 2400 + 70 * 23,  // functions are no FLOPs
     .bytes_read = 4 * (100 + 70 + 280 + 70 + 70),
     .bytes_written = 4 * 280},
    {.what = "RNN with a first state that wants its gradient",
     .attributes = "cell='RNN'",
     .inputs = "w:f32[1,5,5] f32[7,1,2,5] _ _ f32[1,2,5] _ f32[7,1,2,5]",
     .outputs = "f32[7,1,2,5] _ f32[1,2,5]",
     .macs = 350,
     .flops = 700 + 70 * 4,
     .bytes_read = 4 * (25 + 70 + 10 + 70),
     .bytes_written = 4 * (70 + 10)},
};

constexpr OpDef kOps[] = {
    {.name = "RecurrentGrad",
     .domain = "dlcost.training",
     .formula = "MACs = directions * (steps - 1) * batch * gates * hidden * hidden",
     .infer = InferRecurrentGrad,
     .cost = CostRecurrentGrad,
     .cases = kCases},
};

}  // namespace

std::span<const OpDef> RecurrentGradientOps() { return kOps; }

}  // namespace dlcost
