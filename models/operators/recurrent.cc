#include "models/operators/recurrent.h"

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Counting, per step, sample, direction and hidden unit:
// - matrix products: gates * (input + hidden) MACs, 16 h^2 FLOPs per LSTM step when input = hidden
// = h;
// - bias: 1 addition per gate, the two halves of B being added once per model; one more for GRU
// with
//   linear_before_reset, which keeps them apart;
// - clip: 2 comparisons per gate;
// - activations by their names (AddActivation); and the rest of the cell:
//   LSTM  3 mul, 1 add; peepholes 3 mul, 3 add; input_forget replaces one activation by 1 add
//   GRU   3 mul, 2 add; linear_before_reset 1 add more
//   RNN   nothing.
// All steps are counted for every sample. When sequence_lens is known, valid_macs counts the steps
// inside the sequences.
// Inputs: X, W [D, gates*h, input], R [D, gates*h, h], B [D, 2*gates*h], sequence_lens [batch],
// initial_h [D, batch, h], LSTM: initial_c, P [D, 3*h].

struct Cell {
  std::string_view name;
  std::int64_t gates;
  std::int64_t activations;  // functions per direction
  std::string_view defaults[3];
  bool quantized = false;  // ONNX Runtime's: weights are [D, input, gates*h] integers
};
constexpr Cell kRnn = {"RNN", 1, 1, {"Tanh", "", ""}};
constexpr Cell kGru = {"GRU", 3, 2, {"Sigmoid", "Tanh", ""}};
constexpr Cell kLstm = {"LSTM", 4, 3, {"Sigmoid", "Tanh", "Tanh"}};
constexpr Cell kQuantizedLstm = {"LSTM", 4, 3, {"Sigmoid", "Tanh", "Tanh"}, true};

struct Extents {
  std::int64_t steps, batch, input, hidden, directions;
  bool batch_first;
};

void RequireShape(const OpContext& ctx, int input, const Shape& expected) {
  if (ctx.InputShapeKnown(input) && ctx.InputShape(input) != expected) {
    throw Error("input {} has the shape {} where {} is required", input,
                ToString(ctx.InputShape(input)), ToString(expected));
  }
}

Extents ExtentsOf(const OpContext& ctx, const Cell& cell) {
  RequireRank(ctx, 0, 3);
  RequireRank(ctx, 1, 3);
  RequireRank(ctx, 2, 3);
  const Shape& x = ctx.InputShape(0);
  const Shape& r = ctx.InputShape(2);
  Extents e{};
  e.batch_first = ctx.Int("layout", 0) != 0;
  e.steps = x[e.batch_first ? 1 : 0];
  e.batch = x[e.batch_first ? 0 : 1];
  e.input = x[2];
  e.hidden = r[cell.quantized ? 1 : 2];
  const std::string direction = ctx.String("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    throw Error("direction '{}' is not one of forward, reverse, bidirectional",
                Printable(direction));
  }
  e.directions = direction == "bidirectional" ? 2 : 1;
  if (ctx.Int("hidden_size", e.hidden) != e.hidden) {
    throw Error("hidden_size {} contradicts the recurrence weight {}", ctx.Int("hidden_size", 0),
                ToString(r));
  }
  const Count rows = Count(cell.gates) * e.hidden;
  const auto weight = [&](std::int64_t columns) {
    return cell.quantized ? Shape({e.directions, columns, rows.value()})
                          : Shape({e.directions, rows.value(), columns});
  };
  RequireShape(ctx, 1, weight(e.input));
  RequireShape(ctx, 2, weight(e.hidden));
  if (ctx.HasInput(3)) RequireShape(ctx, 3, {e.directions, (rows * 2).value()});
  if (ctx.HasInput(4)) RequireShape(ctx, 4, {e.batch});
  return e;
}

void InferRecurrent(OpContext& ctx, const Cell& cell) {
  const DType type = ctx.InputType(0);
  for (int i = 0; i < ctx.NumOutputs(); ++i) ctx.SetOutputType(i, type);
  const Extents e = ExtentsOf(ctx, cell);
  const Shape state = e.batch_first ? Shape({e.batch, e.directions, e.hidden})
                                    : Shape({e.directions, e.batch, e.hidden});
  for (const int initial : {5, 6}) {
    if (ctx.HasInput(initial)) RequireShape(ctx, initial, state);
  }
  if (ctx.HasInput(7)) RequireShape(ctx, 7, {e.directions, (Count(3) * e.hidden).value()});
  ctx.SetOutput(0, type,
                e.batch_first ? Shape({e.batch, e.steps, e.directions, e.hidden})
                              : Shape({e.steps, e.directions, e.batch, e.hidden}));
  ctx.SetOutput(1, type, state);
  ctx.SetOutput(2, type, state);
}

// The names of the activation functions of direction `d`: f, g, h.
std::vector<std::string> Activations(const OpContext& ctx, const Cell& cell, std::int64_t d) {
  const std::vector<std::string> all = ctx.Strings("activations");
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < cell.activations; ++i) {
    const auto index = static_cast<std::size_t>(d * cell.activations + i);
    if (all.empty()) {
      names.emplace_back(cell.defaults[i]);
    } else if (index < all.size()) {
      names.push_back(all[index]);
    } else {
      throw Error("attribute 'activations' has {} entries, too few", all.size());
    }
  }
  return names;
}

// What a cell does besides matrix products, for `units` hidden units of one direction.
Work CellWork(const OpContext& ctx, const Cell& cell, std::int64_t direction, Count units) {
  Work work;
  const DType type = ctx.InputType(0);
  const std::vector<std::string> f = Activations(ctx, cell, direction);
  if (ctx.HasInput(3)) work.Add(OpClass::kAdd, type, units * cell.gates);
  if (ctx.HasAttribute("clip")) work.Add(OpClass::kCompare, type, units * cell.gates * 2);
  if (cell.name == "RNN") {
    AddActivation(work, type, f[0], units);
  } else if (cell.name == "GRU") {
    const bool apart = ctx.since() >= 3 && ctx.Int("linear_before_reset", 0) != 0;
    AddActivation(work, type, f[0], units * 2);
    AddActivation(work, type, f[1], units);
    work.Add(OpClass::kMul, type, units * 3);
    work.Add(OpClass::kAdd, type, units * (apart ? 3 : 2));
    if (apart && ctx.HasInput(3)) work.Add(OpClass::kAdd, type, units);
  } else {
    const bool coupled = ctx.Int("input_forget", 0) != 0;
    AddActivation(work, type, f[0], units * (coupled ? 2 : 3));
    AddActivation(work, type, f[1], units);
    AddActivation(work, type, f[2], units);
    work.Add(OpClass::kMul, type, units * 3);
    work.Add(OpClass::kAdd, type, units * (coupled ? 2 : 1));
    if (ctx.HasInput(7)) {
      work.Add(OpClass::kMul, type, units * 3);
      work.Add(OpClass::kAdd, type, units * 3);
    }
  }
  return work;
}

OpCost CostRecurrent(const OpContext& ctx, const Cell& cell) {
  OpCost cost = StreamAll(ctx);
  const Extents e = ExtentsOf(ctx, cell);
  const Count units = Count(e.steps) * e.batch * e.hidden;
  const Count macs_per_unit = Count(cell.gates) * (Count(e.input) + Count(e.hidden));
  cost.work.Add(OpClass::kMac, cell.quantized ? DType::kUint8 : ctx.InputType(0),
                units * e.directions * macs_per_unit);
  for (std::int64_t d = 0; d < e.directions; ++d) cost.work.Add(CellWork(ctx, cell, d, units));
  if (const Value* lengths = ctx.InputValue(4); lengths != nullptr && lengths->is_integer()) {
    Count valid;
    for (const std::int64_t length : lengths->ints()) {
      if (length < 0 || length > e.steps) {
        throw Error("a sequence of {} steps in an input of {}", length, e.steps);
      }
      valid += length;
    }
    cost.valid_macs = Macs(valid * e.hidden * e.directions * macs_per_unit);
  }
  cost.nest = RecurrentNest{.directions = e.directions,
                            .steps = e.steps,
                            .batch = e.batch,
                            .input = e.input,
                            .hidden = e.hidden,
                            .gates = cell.gates,
                            .cell = cell.name};
  return cost;
}

void InferRnn(OpContext& ctx) { InferRecurrent(ctx, kRnn); }
void InferGru(OpContext& ctx) { InferRecurrent(ctx, kGru); }
void InferLstm(OpContext& ctx) { InferRecurrent(ctx, kLstm); }
OpCost CostRnn(const OpContext& ctx) { return CostRecurrent(ctx, kRnn); }
OpCost CostGru(const OpContext& ctx) { return CostRecurrent(ctx, kGru); }
OpCost CostLstm(const OpContext& ctx) { return CostRecurrent(ctx, kLstm); }

// In training the gates after their activations leave the layer, the cell states with them, and of
// a GRU the recurrent part of the last gate before its reset.
void InferTraining(OpContext& ctx, const Cell& cell, int gates) {
  InferRecurrent(ctx, cell);
  const Extents e = ExtentsOf(ctx, cell);
  const DType type = ctx.InputType(0);
  ctx.SetOutput(gates, type, {e.steps, e.directions, e.batch, (Count(4) * e.hidden).value()});
  if (gates == 4) ctx.SetOutput(3, type, {e.steps, e.directions, e.batch, e.hidden});
}
void InferLstmTraining(OpContext& ctx) { InferTraining(ctx, kLstm, 4); }
void InferGruTraining(OpContext& ctx) { InferTraining(ctx, kGru, 2); }

void InferQuantizedLstm(OpContext& ctx) { InferRecurrent(ctx, kQuantizedLstm); }

// Besides, every input and every hidden value is quantized once per direction (2 comparisons, 1
// division, 1 conversion, 1 integer addition), and both products of every gate are converted and
// scaled.
OpCost CostQuantizedLstm(const OpContext& ctx) {
  OpCost cost = CostRecurrent(ctx, kQuantizedLstm);
  const Extents e = ExtentsOf(ctx, kQuantizedLstm);
  const DType type = ctx.InputType(0);
  const Count samples = Count(e.steps) * e.batch * e.directions;
  const Count values = samples * (Count(e.input) + Count(e.hidden));
  cost.work.Add(OpClass::kCompare, type, values * 2);
  cost.work.Add(OpClass::kDiv, type, values);
  cost.work.Add(OpClass::kInteger, DType::kInt32, values);
  const Count products = samples * e.hidden * 8;
  cost.work.Add(OpClass::kConvert, type, values + products);
  cost.work.Add(OpClass::kMul, type, products);
  return cost;
}

// 7 steps, 2 samples, 3 inputs, 5 units: 70 unit steps of 8 MACs.
constexpr OpCase kRnnCases[] = {
    {.what = "with bias",
     .attributes = "hidden_size=5",
     .inputs = "f32[7,2,3] w:f32[1,5,3] w:f32[1,5,5] w:f32[1,10]",
     .outputs = "f32[7,1,2,5] f32[1,2,5]",
     .macs = 560,
     .flops = 1120 + 70,
     .bytes_read = 4 * (42 + 15 + 25 + 10),
     .bytes_written = 4 * 80},
    {.what = "both directions, batch first, Relu and Sigmoid, last state only",
     .attributes = "direction='bidirectional' layout=1 activations=['Relu','Sigmoid']",
     .inputs = "f32[2,7,3] w:f32[2,5,3] w:f32[2,5,5]",
     .outputs = "_ f32[2,2,5]",
     .macs = 1120,
     .flops = 2240 + 70 + 2 * 70,
     .bytes_read = 4 * (42 + 30 + 50),
     .bytes_written = 80},
};

// 70 unit steps of 3 * 8 MACs; 3 biases, 2 sigmoids of 2 FLOPs, 3 mul, 2 add each.
constexpr OpCase kGruCases[] = {
    {.what = "with bias",
     .attributes = "hidden_size=5",
     .inputs = "f32[7,2,3] w:f32[1,15,3] w:f32[1,15,5] w:f32[1,30]",
     .outputs = "f32[7,1,2,5] f32[1,2,5]",
     .macs = 1680,
     .flops = 3360 + 70 * (3 + 4 + 5),
     .bytes_read = 4 * (42 + 45 + 75 + 30),
     .bytes_written = 4 * 80},
    {.what = "linear before reset: 2 additions more",
     .attributes = "hidden_size=5 linear_before_reset=1",
     .inputs = "f32[7,2,3] w:f32[1,15,3] w:f32[1,15,5] w:f32[1,30]",
     .outputs = "f32[7,1,2,5]",
     .macs = 1680,
     .flops = 3360 + 70 * (3 + 4 + 5 + 2),
     .bytes_read = 4 * (42 + 45 + 75 + 30),
     .bytes_written = 4 * 70},
};

// The Penn Treebank cell: 16 h^2 = 16,777,216 FLOPs per step and sample in products; per unit 4
// biases, 3 sigmoids of 2 FLOPs, 3 mul, 1 add.
constexpr OpCase kLstmCases[] = {
    {.what = "input = hidden = 1024, one step, one sample",
     .attributes = "hidden_size=1024",
     .inputs = "f32[1,1,1024] w:f32[1,4096,1024] w:f32[1,4096,1024] w:f32[1,8192]",
     .outputs = "f32[1,1,1,1024] f32[1,1,1024] f32[1,1,1024]",
     .macs = 8388608,
     .flops = 16777216 + 1024 * (4 + 6 + 4),
     .bytes_read = 4 * (1024 + 2 * 4194304 + 8192),
     .bytes_written = 3 * 4096},
    {.what = "70 unit steps of 32 MACs; peepholes: 3 mul, 3 add; no bias, known lengths",
     .attributes = "hidden_size=5",
     .inputs = "f32[7,2,3] w:f32[1,20,3] w:f32[1,20,5] _ i32[2]{7,4} f32[1,2,5] f32[1,2,5] "
               "w:f32[1,15]",
     .outputs = "f32[7,1,2,5]",
     .macs = 2240,
     .flops = 4480 + 70 * (6 + 4 + 6),
     .bytes_read = 4 * (42 + 60 + 100 + 2 + 10 + 10 + 15),
     .bytes_written = 280},
    {.what = "input and forget gate coupled, clipped at 4 gates",
     .attributes = "hidden_size=5 input_forget=1 clip=3.0",
     .inputs = "f32[7,2,3] w:f32[1,20,3] w:f32[1,20,5]",
     .outputs = "f32[7,1,2,5]",
     .macs = 2240,
     .flops = 4480 + 70 * (8 + 4 + 5),
     .bytes_read = 4 * (42 + 60 + 100),
     .bytes_written = 280},
};

constexpr OpCase kLstmTrainingCases[] = {
    {.what = "with bias: cell states and gates are written",
     .attributes = "hidden_size=5",
     .inputs = "f32[7,2,3] w:f32[1,20,3] w:f32[1,20,5] w:f32[1,40]",
     .outputs = "f32[7,1,2,5] f32[1,2,5] f32[1,2,5] f32[7,1,2,5] f32[7,1,2,20]",
     .macs = 2240,
     .flops = 4480 + 70 * (4 + 6 + 4),
     .bytes_read = 4 * (42 + 60 + 100 + 40),
     .bytes_written = 4 * (70 + 10 + 10 + 70 + 280)},
};

constexpr OpCase kGruTrainingCases[] = {
    {.what = "without bias: gates are written",
     .attributes = "hidden_size=5 linear_before_reset=1",
     .inputs = "f32[7,2,3] w:f32[1,15,3] w:f32[1,15,5]",
     .outputs = "f32[7,1,2,5] f32[1,2,5] f32[7,1,2,20]",
     .macs = 1680,
     .flops = 3360 + 70 * (4 + 6),
     .bytes_read = 4 * (42 + 45 + 75),
     .bytes_written = 4 * (70 + 10 + 280)},
};

// 14 steps of samples: 8 values quantized at 3 FLOPs, 40 products scaled; the LSTM of 70 unit
// steps.
constexpr OpCase kQuantizedLstmCases[] = {
    {.what = "without bias",
     .attributes = "hidden_size=5",
     .inputs = "f32[7,2,3] w:i8[1,3,20] w:i8[1,5,20] _ _ _ _ _ f32[1] i8[1] f32[1] i8[1]",
     .outputs = "f32[7,1,2,5]",
     .macs = 2240,
     .flops = 4480 + 70 * (6 + 4) + 14 * (8 * 3 + 40),
     .bytes_read = 168 + 60 + 100 + 10,
     .bytes_written = 280},
};

constexpr OpDef kRecurrentOps[] = {
    {.name = "RNN",
     .since = {1, 7, 14, 22},
     .formula = "MACs = directions * steps * batch * hidden * (input + hidden)",
     .infer = InferRnn,
     .cost = CostRnn,
     .cases = kRnnCases},
    {.name = "GRU",
     .since = {1, 3, 7, 14, 22},
     .formula = "MACs = directions * steps * batch * 3 * hidden * (input + hidden)",
     .infer = InferGru,
     .cost = CostGru,
     .cases = kGruCases},
    {.name = "LSTM",
     .since = {1, 7, 14, 22},
     .formula = "MACs = directions * steps * batch * 4 * hidden * (input + hidden)",
     .infer = InferLstm,
     .cost = CostLstm,
     .cases = kLstmCases},
    {.name = "LSTMTraining",
     .domain = "com.microsoft",
     .formula = "as LSTM; writes cell states and gates",
     .infer = InferLstmTraining,
     .cost = CostLstm,
     .cases = kLstmTrainingCases},
    {.name = "GRUTraining",
     .domain = "com.microsoft",
     .since = {3},  // of GRU, which has linear_before_reset since then
     .formula = "as GRU with linear_before_reset; writes gates",
     .infer = InferGruTraining,
     .cost = CostGru,
     .cases = kGruTrainingCases},
    {.name = "DynamicQuantizeLSTM",
     .domain = "com.microsoft",
     .formula = "MACs as LSTM, in u8; inputs quantized, products rescaled",
     .infer = InferQuantizedLstm,
     .cost = CostQuantizedLstm,
     .cases = kQuantizedLstmCases},
};

}  // namespace

Work LstmCellWork(const OpContext& ctx, std::int64_t direction, Count units) {
  return CellWork(ctx, kLstm, direction, units);
}

std::span<const OpDef> RecurrentOps() { return kRecurrentOps; }

}  // namespace dlcost
