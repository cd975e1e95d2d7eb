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

// ONNX Runtime's, which have the products with whole sequences inside. LSTMGrad: X [S, N, i], W, R,
// lengths, initial_h, initial_c, Y, cells, gates, dY, dY_h, dY_c; outputs dX, dW, dR, dB, dH0, dC0.
// GRUGrad: X, W, R, B, lengths, initial_h, Y, gates, dY, dY_h; outputs dX, dW, dR, dB, dH0. A
// product each for dX, dW and dR; dB adds up the gates of all rows, once (a GRU: each half).
struct Layer {
  Shape x, r;
  std::int64_t directions, hidden, wide;  // gates * hidden
};

Layer LayerOf(const OpContext& ctx) {
  for (const int i : {0, 1, 2}) RequireRank(ctx, i, 3);
  const Shape& r = ctx.InputShape(2);
  return {ctx.InputShape(0), r, r[0], r[2], r[1]};
}

void InferLayerGrad(OpContext& ctx) {
  const DType type = ctx.InputType(0);
  for (int i = 0; i < ctx.NumOutputs(); ++i) ctx.SetOutputType(i, type);
  const Layer layer = LayerOf(ctx);
  for (const int i : {0, 1, 2}) ctx.SetOutput(i, type, ctx.InputShape(i));
  ctx.SetOutput(3, type, {layer.directions, (Count(layer.wide) * 2).value()});
  for (const int i : {4, 5}) {
    ctx.SetOutput(i, type, {layer.directions, layer.x[1], layer.hidden});
  }
}

OpCost CostLayerGrad(const OpContext& ctx, const Backward& cell) {
  OpCost cost = StreamAll(ctx);
  const DType type = ctx.InputType(0);
  const Layer layer = LayerOf(ctx);
  const Count rows = Count(layer.x[0]) * layer.x[1];
  const std::int64_t products =
      ctx.HasOutput(4) ? layer.x[0] : std::max<std::int64_t>(0, layer.x[0] - 1);
  const RecurrentNest through{.directions = layer.directions,
                              .steps = products,
                              .batch = layer.x[1],
                              .input = 0,
                              .hidden = layer.hidden,
                              .gates = cell.gates,
                              .cell = cell.cell};
  cost.AddPart("dH", through, type);
  const auto product = [&](std::string_view name, int output, Count m, Count n, Count k) {
    if (!ctx.HasOutput(output)) return;
    cost.AddPart(name, GemmNest{.batch = layer.directions, .m = m, .n = n, .k = k}, type);
  };
  product("dX", 0, rows, layer.x[2], layer.wide);
  product("dW", 1, layer.wide, layer.x[2], rows);
  product("dR", 2, layer.wide, layer.hidden, rows);
  if (ctx.HasOutput(3)) {
    const Count sums = Count(layer.directions) * layer.wide * Count(cell.cell == "GRU" ? 2 : 1);
    cost.work.Add(OpClass::kAdd, type, Folds(sums * rows, sums));
  }
  const Count units = rows * layer.directions * layer.hidden;
  cost.work.Add(OpClass::kMul, type, units * cell.mul);
  cost.work.Add(OpClass::kAdd, type, units * cell.add);
  cost.work.Add(OpClass::kTrig, type, units * cell.trig);
  cost.nest = through;
  return cost;
}

OpCost CostLstmGrad(const OpContext& ctx) { return CostLayerGrad(ctx, kCells[0]); }
OpCost CostGruGrad(const OpContext& ctx) { return CostLayerGrad(ctx, kCells[1]); }

// Back through 6 steps 6 * 2 * 20 * 5; dX and dW 14 * 20 * 3 each; dR 14 * 20 * 5; 20 sums of 14.
constexpr OpCase kLstmGradCases[] = {
    {.what = "all but the first states'",
     .inputs = "f32[7,2,3] w:f32[1,20,3] w:f32[1,20,5] _ _ _ f32[7,1,2,5] f32[7,1,2,5] "
               "f32[7,1,2,20] f32[7,1,2,5]",
     .outputs = "f32[7,2,3] f32[1,20,3] f32[1,20,5] f32[1,40]",
     .macs = 1200 + 2 * 840 + 1400,
     .flops = 2 * 4280 + 260 + 70 * 23,
     .bytes_read = 4 * (42 + 60 + 100 + 70 + 70 + 280 + 70),
     .bytes_written = 4 * (42 + 60 + 100 + 40)},
};

// 6 * 2 * 15 * 5; 14 * 15 * 3 twice; 14 * 15 * 5; 30 sums of 14; 19 per unit.
constexpr OpCase kGruGradCases[] = {
    {.what = "all but the first state's",
     .inputs = "f32[7,2,3] w:f32[1,15,3] w:f32[1,15,5] w:f32[1,30] _ _ f32[7,1,2,5] f32[7,1,2,15] "
               "f32[7,1,2,5]",
     .outputs = "f32[7,2,3] f32[1,15,3] f32[1,15,5] f32[1,30]",
     .macs = 900 + 2 * 630 + 1050,
     .flops = 2 * 3210 + 390 + 70 * 19,
     .bytes_read = 4 * (42 + 45 + 75 + 30 + 70 + 210 + 70),
     .bytes_written = 4 * (42 + 45 + 75 + 30)},
};

// 7 steps, 2 samples, 5 units: 6 products of 2 * 20 * 5; 70 unit steps.
constexpr OpCase kRecurrentGradientCases[] = {
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

constexpr OpDef kRecurrentGradientOps[] = {
    {.name = "RecurrentGrad",
     .domain = "dlcost.training",
     .formula = "MACs = directions * (steps - 1) * batch * gates * hidden * hidden",
     .infer = InferRecurrentGrad,
     .cost = CostRecurrentGrad,
     .cases = kRecurrentGradientCases},
    {.name = "LSTMGrad",
     .domain = "com.microsoft",
     .formula = "MACs = back through the steps; directions * rows * gates * hidden * (2 input + "
                "hidden)",
     .infer = InferLayerGrad,
     .cost = CostLstmGrad,
     .cases = kLstmGradCases},
    {.name = "GRUGrad",
     .domain = "com.microsoft",
     .formula = "MACs = back through the steps; directions * rows * gates * hidden * (2 input + "
                "hidden)",
     .infer = InferLayerGrad,
     .cost = CostGruGrad,
     .cases = kGruGradCases},
};

}  // namespace

std::span<const OpDef> RecurrentGradientOps() { return kRecurrentGradientOps; }

}  // namespace dlcost
