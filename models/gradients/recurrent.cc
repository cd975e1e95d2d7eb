#include "models/gradients/gradient.h"

namespace dlcost {
namespace {

// Back through the steps (RecurrentGrad), then, per direction, products with whole sequences: with
// G the gradient of the gates, dX = G W, dW = G' X, dR = G' H with H the states before each step,
// dB the sum of G.

struct Layer {
  std::int64_t steps, directions, batch, input, hidden, gates;
  std::string cell, direction;
  bool Reversed(std::int64_t d) const { return direction == "reverse" || d == 1; }
};

void RequirePlain(const OpContext& forward, const std::string& cell) {
  const auto refuse = [&](const char* what) {
    throw Unresolved("the derivative of " + cell + " with " + what + " is not written");
  };
  if (forward.Int("layout", 0) != 0) refuse("the batch first");
  const std::vector<std::string> usual =
      cell == "LSTM"  ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
      : cell == "GRU" ? std::vector<std::string>{"Sigmoid", "Tanh"}
                      : std::vector<std::string>{"Tanh"};
  const std::vector<std::string> named = forward.Strings("activations");
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (named[i] != usual[i % usual.size()]) refuse("other activations");
  }
  if (forward.HasAttribute("clip")) refuse("clipping");
  if (forward.Int("input_forget", 0) != 0) refuse("coupled gates");
  if (forward.HasInput(4)) refuse("lengths of sequences");
  if (forward.HasInput(7)) refuse("peepholes");
  if (cell == "GRU" && forward.Int("linear_before_reset", 0) == 0)
    refuse("reset before the product");
}

Layer LayerOf(const GradientContext& g, std::string cell) {
  const Shape x = g.XShape(0), r = g.XShape(2);
  const std::string direction = g.forward().String("direction", "forward");
  return {x[0], r[0], x[1], x[2], r[2], r[1] / r[2], std::move(cell), direction};
}

// One direction of [S, D, N, k] as [S * N, k].
TensorId Rows(NodeWriter& w, TensorId x, std::int64_t d) {
  const Shape shape = w.ShapeOf(x);
  const TensorId one = shape[1] == 1 ? x : w.Slice(x, 1, d, 1);
  return w.Reshape(one, {shape[0] * shape[2], shape[3]});
}

// One direction of [D, m, n] as [m, n].
TensorId Matrix(NodeWriter& w, TensorId x, std::int64_t d) {
  const Shape shape = w.ShapeOf(x);
  return w.Reshape(shape[0] == 1 ? x : w.Slice(x, 0, d, 1), {shape[1], shape[2]});
}

// The states that the steps of a direction begin with, [S * N, h].
TensorId StatesBefore(GradientContext& g, const Layer& layer, TensorId y, std::int64_t d) {
  NodeWriter& w = g.w();
  const Shape first = {1, 1, layer.batch, layer.hidden};
  TensorId initial = kNoTensor;
  if (g.HasInput(5)) {
    const TensorId one = layer.directions == 1 ? g.X(5) : w.Slice(g.X(5), 0, d, 1);
    initial = w.Reshape(one, first);
  } else {
    initial = w.Zeros(g.Type(), first);
  }
  const TensorId own = layer.directions == 1 ? y : w.Slice(y, 1, d, 1);
  const bool reversed = layer.Reversed(d);
  std::vector<TensorId> parts = {initial};
  if (layer.steps > 1) {
    const TensorId others = w.Slice(own, 0, reversed ? 1 : 0, layer.steps - 1);
    parts.insert(reversed ? parts.begin() : parts.end(), others);
  }
  const TensorId all =
      parts.size() == 1 ? initial : w.Node1("Concat", parts, {IntAttribute("axis", 0)});
  return w.Reshape(all, {layer.steps * layer.batch, layer.hidden});
}

// Directions next to each other: [D, ...].
TensorId Together(NodeWriter& w, std::vector<TensorId> parts, const Shape& shape) {
  if (parts.size() == 1) return w.Reshape(parts[0], shape);
  Shape one = shape;
  one[0] = 1;
  for (TensorId& part : parts) part = w.Reshape(part, one);
  return w.Node1("Concat", std::move(parts), {IntAttribute("axis", 0)});
}

struct Saved {
  TensorId y, gates = kNoTensor, cells = kNoTensor;
};

void DifferentiateLayer(GradientContext& g, const Layer& layer, const Saved& saved) {
  NodeWriter& w = g.w();
  const bool lstm = layer.cell == "LSTM", gru = layer.cell == "GRU";
  const std::vector<TensorId> through = w.NodeWith(
      "RecurrentGrad", "dlcost.training",
      {g.X(2), saved.y, saved.gates, saved.cells, g.HasInput(5) ? g.X(5) : kNoTensor,
       lstm && g.HasInput(6) ? g.X(6) : kNoTensor, g.dY(0), g.dY(1), lstm ? g.dY(2) : kNoTensor},
      {TextAttribute("cell", layer.cell), TextAttribute("direction", layer.direction)},
      {true, gru, g.Wants(5), lstm && g.Wants(6)});
  if (g.Wants(5)) g.Set(5, through[2]);
  if (g.Wants(6)) g.Set(6, through[3]);
  const TensorId for_state = gru ? through[1] : through[0];
  TensorId data = kNoTensor;
  std::vector<TensorId> weights, recurrent, biases;
  const TensorId x = w.Reshape(g.X(0), {layer.steps * layer.batch, layer.input});
  for (std::int64_t d = 0; d < layer.directions; ++d) {
    const TensorId rows = Rows(w, through[0], d);
    if (g.Wants(0)) {
      const TensorId part = w.Product(rows, false, Matrix(w, g.X(1), d), false);
      data = data == kNoTensor ? part : w.Add(data, part);
    }
    if (g.Wants(1)) weights.push_back(w.Product(rows, true, x, false));
    const TensorId state_rows = gru ? Rows(w, for_state, d) : rows;
    if (g.Wants(2)) {
      recurrent.push_back(w.Product(state_rows, true, StatesBefore(g, layer, saved.y, d), false));
    }
    if (g.Wants(3)) {
      const TensorId sum = w.ReduceSum(rows, {0});
      const TensorId state_sum = gru ? w.ReduceSum(state_rows, {0}) : sum;
      biases.push_back(w.Node1("Concat", {sum, state_sum}, {IntAttribute("axis", 1)}));
    }
  }
  if (g.Wants(0)) g.Set(0, w.Reshape(data, g.XShape(0)));
  if (g.Wants(1)) g.Set(1, Together(w, weights, g.XShape(1)));
  if (g.Wants(2)) g.Set(2, Together(w, recurrent, g.XShape(2)));
  if (g.Wants(3)) g.Set(3, Together(w, biases, g.XShape(3)));
}

void LstmGradient(GradientContext& g) {
  RequirePlain(g.forward(), "LSTM");
  const Layer layer = LayerOf(g, "LSTM");
  g.Rename("LSTMTraining", "com.microsoft");
  const Saved saved = {g.Saved(0), g.Saved(4), g.Saved(3)};
  DifferentiateLayer(g, layer, saved);
}

void GruGradient(GradientContext& g) {
  RequirePlain(g.forward(), "GRU");
  const Layer layer = LayerOf(g, "GRU");
  g.Rename("GRUTraining", "com.microsoft");
  const Saved saved = {g.Saved(0), g.Saved(2)};
  DifferentiateLayer(g, layer, saved);
}

void RnnGradient(GradientContext& g) {
  RequirePlain(g.forward(), "RNN");
  DifferentiateLayer(g, LayerOf(g, "RNN"), {g.Saved(0)});
}

constexpr GradientDef kRecurrentGradients[] = {{"LSTM", LstmGradient, "", true},
                                               {"GRU", GruGradient, "", true},
                                               {"RNN", RnnGradient, "", true}};

}  // namespace

std::span<const GradientDef> RecurrentGradients() { return kRecurrentGradients; }

}  // namespace dlcost
