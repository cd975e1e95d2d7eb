#include <algorithm>
#include <string>
#include <tuple>

#include "models/decompositions/activation.h"
#include "models/decompositions/decomposition.h"

namespace dlcost {
namespace {

// Forms of recurrent layers that no kernel of a framework trains (lengths of sequences, the batch
// first, peepholes, other activations, clipping, coupled gates, a GRU that resets before the
// product): written out as a framework's loop over cells has them. The products with the input are
// one product over all steps; the steps are a Scan, which carries the state and, per step, one
// product with the recurrent weight (two of a GRU that resets first).

struct Layer {
  std::string cell;
  std::int64_t steps, batch, input, hidden, gates, directions;
  bool batch_first, clips, coupled, resets_last, lengths;
  double clip;
  std::vector<std::string> activations;  // per direction, of the cell's functions
  std::vector<double> alphas, betas;
};

Layer LayerOf(const FusedNode& f) {
  const OpContext c = f.context();
  const std::string cell = f.node().op;
  Shape x = f.XShape(0);
  const Shape r = f.XShape(2);
  if (x.rank() != 3 || r.rank() != 3 || r[2] < 1)
    throw Unresolved("not a sequence and its weights");
  if (r[0] != 1 && r[0] != 2) throw Unresolved("not one direction or two");
  const bool batch_first = c.Int("layout", 0) != 0;
  std::vector<std::string> usual = {"Tanh"};
  if (cell == "LSTM") usual = {"Sigmoid", "Tanh", "Tanh"};
  if (cell == "GRU") usual = {"Sigmoid", "Tanh"};
  std::vector<std::string> activations = c.Strings("activations");
  if (activations.empty()) {
    for (std::int64_t d = 0; d < r[0]; ++d) {
      activations.insert(activations.end(), usual.begin(), usual.end());
    }
  }
  if (activations.size() != usual.size() * static_cast<std::size_t>(r[0])) {
    throw Unresolved("not an activation for every function of a cell");
  }
  return {.cell = cell,
          .steps = batch_first ? x[1] : x[0],
          .batch = batch_first ? x[0] : x[1],
          .input = x[2],
          .hidden = r[2],
          .gates = r[1] / r[2],
          .directions = r[0],
          .batch_first = batch_first,
          .clips = c.HasAttribute("clip"),
          .coupled = c.Int("input_forget", 0) != 0,
          .resets_last = c.Int("linear_before_reset", 0) != 0,
          .lengths = f.Has(4),
          .clip = c.Float("clip", 0),
          .activations = std::move(activations),
          .alphas = c.Floats("activation_alpha"),
          .betas = c.Floats("activation_beta")};
}

bool IsPlain(const FusedNode& f, const Layer& layer) {
  const std::vector<std::string> named = f.context().Strings("activations");
  const bool usual = std::all_of(named.begin(), named.end(), [](const std::string& name) {
    return name == "Sigmoid" || name == "Tanh";
  });
  const bool order =
      layer.cell != "RNN" || std::all_of(named.begin(), named.end(),
                                         [](const std::string& name) { return name == "Tanh"; });
  return !layer.batch_first && !layer.clips && !layer.coupled && !layer.lengths && !f.Has(7) &&
         (layer.cell != "GRU" || layer.resets_last) && usual && order;
}

// One step of a direction as a graph: state and gates of the input to the state behind it.
class Step {
 public:
  Step(const FusedNode& f, const Layer& layer, std::size_t direction, int opset, DType type)
      : layer_(layer), w_(body_, opset), direction_(direction) {
    w_.Place(f.node().name, "", Phase::kForward);
    const Shape state = {layer.batch, layer.hidden};
    h_ = w_.Input("h", type, state);
    if (layer.cell == "LSTM") c_ = w_.Input("c", type, state);
    own_ = w_.Input("gates", type, {layer.batch, layer.gates * layer.hidden});
    if (layer.lengths) lasts_ = w_.Input("lasts", DType::kBool, {layer.batch, 1});
  }

  // A value of the graph around.
  TensorId Captured(NodeWriter& outer, TensorId id, const char* name) {
    const TensorId inner = w_.OfType(name, {.dtype = outer.TypeOf(id), .shape = outer.ShapeOf(id)});
    body_.captures.push_back({id, inner});
    return inner;
  }

  // `recurrent` [gates h, h], `bias` [gates h] behind that product, `peepholes` [3 h].
  Graph Write(TensorId recurrent, TensorId bias, TensorId peepholes) {
    TensorId h = kNoTensor, c = kNoTensor;
    if (layer_.cell == "LSTM") {
      std::tie(h, c) = Lstm(Behind(h_, recurrent, bias, 0, 4), peepholes);
    } else if (layer_.cell == "GRU") {
      h = Gru(recurrent, bias);
    } else {
      h = Function(0, w_.Add(own_, Behind(h_, recurrent, bias, 0, 1)));
    }
    TensorId y = h;
    if (layer_.lengths) {
      h = w_.Node1("Where", {lasts_, h, h_});
      if (c != kNoTensor) c = w_.Node1("Where", {lasts_, c, c_});
      y = w_.Node1("Where", {lasts_, y, w_.Scalar(0, w_.TypeOf(y))});
    } else {
      y = w_.Node1("Identity", {h});
    }
    w_.Take();
    body_.name = "step";
    body_.outputs = {h};
    if (c != kNoTensor) body_.outputs.push_back(c);
    body_.outputs.push_back(y);
    return std::move(body_);
  }

 private:
  // The product of a state and the rows of `count` gates of the recurrent weight from `first` on.
  TensorId Behind(TensorId state, TensorId recurrent, TensorId bias, std::int64_t first,
                  std::int64_t count) {
    const std::int64_t h = layer_.hidden;
    const bool all = count == layer_.gates;
    const TensorId weight = all ? recurrent : w_.Slice(recurrent, 0, first * h, count * h);
    const TensorId product = w_.Product(state, false, weight, true);
    if (bias == kNoTensor) return product;
    return w_.Add(product, all ? bias : w_.Slice(bias, 0, first * h, count * h));
  }

  TensorId Gate(TensorId gates, std::int64_t i) {
    return w_.Slice(gates, 1, i * layer_.hidden, layer_.hidden);
  }

  TensorId Function(std::size_t which, TensorId x) {
    const std::size_t at =
        direction_ * (layer_.activations.size() / static_cast<std::size_t>(layer_.directions)) +
        which;
    if (layer_.clips) {
      const DType type = w_.TypeOf(x);
      x = w_.Node1("Clip", {x, w_.Scalar(-layer_.clip, type), w_.Scalar(layer_.clip, type)});
    }
    std::vector<double> parameters;
    if (at < layer_.alphas.size()) parameters.push_back(layer_.alphas[at]);
    if (!parameters.empty() && at < layer_.betas.size()) parameters.push_back(layer_.betas[at]);
    return Activate(w_, x, layer_.activations[at], parameters);
  }

  std::pair<TensorId, TensorId> Lstm(TensorId behind, TensorId peepholes) {
    const TensorId gates = w_.Add(own_, behind);
    const auto peep = [&](TensorId gate, std::int64_t i, TensorId cell) {
      if (peepholes == kNoTensor) return gate;
      return w_.Add(gate, w_.Mul(cell, w_.Slice(peepholes, 0, i * layer_.hidden, layer_.hidden)));
    };
    const TensorId input = Function(0, peep(Gate(gates, 0), 0, c_));
    const TensorId forget = layer_.coupled ? w_.Sub(w_.Scalar(1, w_.TypeOf(input)), input)
                                           : Function(0, peep(Gate(gates, 2), 2, c_));
    const TensorId fresh = Function(1, Gate(gates, 3));
    const TensorId c = w_.Add(w_.Mul(forget, c_), w_.Mul(input, fresh));
    const TensorId output = Function(0, peep(Gate(gates, 1), 1, c));
    // The function of the cell's result is not clipped.
    const std::size_t at = direction_ * 3 + 2;
    return {w_.Mul(output, Activate(w_, c, layer_.activations[at])), c};
  }

  TensorId Gru(TensorId recurrent, TensorId bias) {
    const TensorId both = Behind(h_, recurrent, bias, 0, layer_.resets_last ? 3 : 2);
    const TensorId update = Function(0, w_.Add(Gate(own_, 0), Gate(both, 0)));
    const TensorId reset = Function(0, w_.Add(Gate(own_, 1), Gate(both, 1)));
    const TensorId behind = layer_.resets_last ? w_.Mul(reset, Gate(both, 2))
                                               : Behind(w_.Mul(reset, h_), recurrent, bias, 2, 1);
    const TensorId fresh = Function(1, w_.Add(Gate(own_, 2), behind));
    const TensorId rest = w_.Sub(w_.Scalar(1, w_.TypeOf(update)), update);
    return w_.Add(w_.Mul(rest, fresh), w_.Mul(update, h_));
  }

  const Layer& layer_;
  Graph body_;
  NodeWriter w_;
  std::size_t direction_;
  TensorId h_ = kNoTensor, c_ = kNoTensor, own_ = kNoTensor, lasts_ = kNoTensor;
};

// A direction of an input [D, ...] without that axis; kNoTensor where there is no input.
TensorId DirectionOf(NodeWriter& w, TensorId x, std::int64_t d) {
  if (x == kNoTensor) return x;
  const Shape shape = w.ShapeOf(x);
  if (shape.rank() == 0 || shape[0] <= d) throw Unresolved("an operand without this direction");
  const TensorId one = shape[0] == 1 ? x : w.Slice(x, 0, d, 1);
  return w.Reshape(one, Shape(std::vector<std::int64_t>(shape.begin() + 1, shape.end())));
}

struct Direction {
  TensorId y, h, c = kNoTensor;
};

Direction WriteDirection(FusedNode& f, const Layer& layer, std::int64_t d, TensorId x,
                         TensorId lasts) {
  NodeWriter& w = f.w();
  const DType type = f.Type();
  const std::int64_t wide = layer.gates * layer.hidden;
  const Shape state = {layer.batch, layer.hidden};
  const TensorId weight = DirectionOf(w, f.X(1), d), recurrent = DirectionOf(w, f.X(2), d);
  const TensorId bias = DirectionOf(w, f.X(3), d);
  TensorId own = w.Product(x, false, weight, true);
  if (bias != kNoTensor) own = w.Add(own, w.Slice(bias, 0, 0, wide));
  own = w.Reshape(own, {layer.steps, layer.batch, wide});
  const TensorId behind = bias == kNoTensor ? kNoTensor : w.Slice(bias, 0, wide, wide);
  const auto initial = [&](std::size_t i) {
    if (!f.Has(i)) return w.Zeros(type, state);
    if (!layer.batch_first) return DirectionOf(w, f.X(i), d);
    return DirectionOf(w, w.Transpose(f.X(i), {1, 0, 2}), d);
  };
  const bool lstm = layer.cell == "LSTM";
  Step step(f, layer, static_cast<std::size_t>(d), w.opset(), type);
  const TensorId r = step.Captured(w, recurrent, "recurrent");
  const TensorId b = behind == kNoTensor ? kNoTensor : step.Captured(w, behind, "bias");
  const TensorId peepholes = lstm ? DirectionOf(w, f.X(7), d) : kNoTensor;
  const TensorId p = peepholes == kNoTensor ? kNoTensor : step.Captured(w, peepholes, "peepholes");
  std::vector<TensorId> inputs = {initial(5)};
  if (lstm) inputs.push_back(initial(6));
  std::vector<TensorType> types(inputs.size(), {.dtype = type, .shape = state});
  types.push_back({.dtype = type, .shape = Shape{layer.steps, layer.batch, layer.hidden}});
  inputs.push_back(own);
  if (layer.lengths) inputs.push_back(lasts);
  const std::int64_t scanned = layer.lengths ? 2 : 1;
  const bool back = f.context().String("direction", "forward") == "reverse" || d == 1;
  std::vector<Attribute> attributes = {{"body", std::make_shared<Graph>(step.Write(r, b, p))},
                                       IntAttribute("num_scan_inputs", scanned)};
  if (back) {
    attributes.push_back(IntsAttribute(
        "scan_input_directions", std::vector<std::int64_t>(static_cast<std::size_t>(scanned), 1)));
    attributes.push_back(IntsAttribute("scan_output_directions", {1}));
  }
  const std::vector<TensorId> outputs = w.Control("Scan", inputs, std::move(attributes), types);
  return {.y = outputs.back(), .h = outputs[0], .c = lstm ? outputs[1] : kNoTensor};
}

// Directions next to each other along a new axis: [steps, D, batch, h] of [steps, batch, h],
// [D, batch, h] of [batch, h].
TensorId Together(NodeWriter& w, const std::vector<TensorId>& parts, std::size_t axis) {
  std::vector<TensorId> unsqueezed;
  for (const TensorId part : parts) {
    std::vector<std::int64_t> dims = w.ShapeOf(part).dims();
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    unsqueezed.push_back(w.Reshape(part, Shape(dims)));
  }
  if (unsqueezed.size() == 1) return unsqueezed[0];
  return w.Node1("Concat", unsqueezed, {IntAttribute("axis", static_cast<std::int64_t>(axis))});
}

void WriteRecurrent(FusedNode& f) {
  NodeWriter& w = f.w();
  const Layer layer = LayerOf(f);
  if (IsPlain(f, layer)) throw Unresolved("it stays one kernel");
  const TensorId turned = layer.batch_first ? w.Transpose(f.X(0), {1, 0, 2}) : f.X(0);
  const TensorId x = w.Reshape(turned, {layer.steps * layer.batch, layer.input});
  TensorId lasts = kNoTensor;  // [steps, batch, 1]: whether a sample has this step
  if (layer.lengths) {
    const TensorId steps = w.Node1("Range", {w.Int(0), w.Int(layer.steps), w.Int(1)});
    const TensorId lengths =
        w.Node1("Cast", {f.X(4)}, {IntAttribute("to", static_cast<std::int64_t>(DType::kInt64))});
    lasts = w.Node1("Less",
                    {w.Reshape(steps, {layer.steps, 1, 1}), w.Reshape(lengths, {layer.batch, 1})});
  }
  std::vector<TensorId> y, h, c;
  for (std::int64_t d = 0; d < layer.directions; ++d) {
    const Direction direction = WriteDirection(f, layer, d, x, lasts);
    y.push_back(direction.y);
    h.push_back(direction.h);
    c.push_back(direction.c);
  }
  const auto set_last = [&](std::size_t output, const std::vector<TensorId>& parts) {
    const TensorId all = Together(w, parts, 0);
    f.Set(output, layer.batch_first ? w.Transpose(all, {1, 0, 2}) : all);
  };
  if (f.HasOutput(0)) {
    const TensorId all = Together(w, y, 1);
    f.Set(0, layer.batch_first ? w.Transpose(all, {2, 0, 1, 3}) : all);
  }
  if (f.HasOutput(1)) set_last(1, h);
  if (f.HasOutput(2) && layer.cell == "LSTM") set_last(2, c);
}

constexpr Decomposition kRecurrentDecompositions[] = {
    {"LSTM", WriteRecurrent},
    {"GRU", WriteRecurrent},
    {"RNN", WriteRecurrent},
};

}  // namespace

std::span<const Decomposition> RecurrentDecompositions() { return kRecurrentDecompositions; }

}  // namespace dlcost
