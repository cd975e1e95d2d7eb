#include <algorithm>
#include <cmath>

#include "models/gradients/gradient.h"
#include "models/operators/fused_attention.h"

namespace dlcost {
namespace {

// A fused attention keeps neither scores nor probabilities: the way back computes them again, as
// flash attention does. With P = softmax(s Q K' + mask): dV = P' dY, dP = dY V', dQ = s dS K,
// dK = s dS' Q: five products for two.

struct Heads {
  TensorId q, k, v;           // [batch, heads, length, width]
  TensorId bias = kNoTensor;  // added to the scores
  TensorId keep = kNoTensor;  // which scores count
  double scale = 1;
  double softcap = 0;       // scores stay within +-softcap; 0: as they are
  std::int64_t offset = 0;  // keys before the first query's own
  bool causal = false;
  std::int64_t left = -1, right = -1;  // keys before and after its own that a query sees, -1: all
};

struct HeadGradients {
  TensorId q, k, v, bias;
};

// What stands for minus infinity.
double Lowest(DType type) { return type == DType::kFloat16 ? -65504 : -3e38; }

// Heads that share keys and values lie next to each other: for products they are more rows of one.
Shape Grouped(const Shape& rows, const Shape& keys) {
  const std::int64_t shared = keys[1] > 0 ? rows[1] / keys[1] : 0;
  return {rows[0], keys[1], shared * rows[2], rows[3]};
}

struct Probabilities {
  TensorId p, capped = kNoTensor;  // scores over their cap
};

Probabilities ProbabilitiesOf(NodeWriter& w, const Heads& heads) {
  const Shape q = w.ShapeOf(heads.q), k = w.ShapeOf(heads.k);
  const TensorId product = w.Product(w.Reshape(heads.q, Grouped(q, k)), false, heads.k, true);
  TensorId scores = w.Scale(w.Reshape(product, {q[0], q[1], q[2], k[2]}), heads.scale);
  Probabilities result;
  if (heads.softcap != 0) {
    result.capped = w.Node1("Tanh", {w.Scale(scores, 1 / heads.softcap)});
    scores = w.Scale(result.capped, heads.softcap);
  }
  if (heads.bias != kNoTensor) scores = w.Add(scores, heads.bias);
  const DType type = w.TypeOf(scores);
  const auto keep = [&](TensorId which) {
    scores = w.Node1("Where", {which, scores, w.Scalar(Lowest(type), type)});
  };
  if (heads.keep != kNoTensor) keep(heads.keep);
  const auto keep_triangle = [&](bool upper, std::int64_t diagonal) {
    std::vector<TensorId> inputs = {w.Expand(w.True(), {q[2], k[2]})};
    if (diagonal != 0) inputs.push_back(w.Ints({diagonal}));
    keep(w.Node1("Trilu", std::move(inputs), {IntAttribute("upper", upper ? 1 : 0)}));
  };
  if (heads.causal) keep_triangle(false, heads.offset);
  if (heads.left >= 0) keep_triangle(true, heads.offset - heads.left);
  if (heads.right >= 0 && !heads.causal) keep_triangle(false, heads.offset + heads.right);
  result.p = w.Node1("Softmax", {scores}, {IntAttribute("axis", -1)});
  return result;
}

HeadGradients DifferentiateHeads(NodeWriter& w, const Heads& heads, TensorId dy) {
  const Shape q = w.ShapeOf(heads.q), k = w.ShapeOf(heads.k);
  if (k[1] < 1 || q[1] % k[1] != 0) throw Unresolved("the heads of an attention do not fit");
  const auto [p, capped] = ProbabilitiesOf(w, heads);
  const Shape scores = w.ShapeOf(p), grouped = Grouped(scores, k);
  const TensorId rows = w.Reshape(p, grouped);
  const TensorId dy_rows = w.Reshape(dy, Grouped(w.ShapeOf(dy), k));
  const TensorId dv = w.Product(rows, true, dy_rows, false);
  const TensorId dp = w.Reshape(w.Product(dy_rows, false, heads.v, true), scores);
  const TensorId bias = w.Contrib("SoftmaxGrad_13", {dp, p}, {IntAttribute("axis", -1)});
  // The derivative of c tanh(s / c) is 1 - tanh(s / c)^2.
  const TensorId own = capped == kNoTensor ? bias : w.Contrib("TanhGrad", {bias, capped});
  const TensorId ds = w.Reshape(w.Scale(own, heads.scale), grouped);
  const TensorId dk = w.Product(ds, true, w.Reshape(heads.q, Grouped(q, k)), false);
  return {w.Reshape(w.Product(ds, false, heads.k, false), q), dk, dv, bias};
}

// [batch, length, heads * width] as [batch, heads, length, width], and back.
TensorId SplitHeads(NodeWriter& w, TensorId x, std::int64_t heads) {
  const Shape shape = w.ShapeOf(x);
  if (shape.rank() == 4) return x;
  if (shape.rank() != 3 || heads < 1) throw Unresolved("the heads of an attention are not known");
  return w.Transpose(w.Reshape(x, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
}

TensorId JoinHeads(NodeWriter& w, TensorId x, const Shape& shape) {
  return shape.rank() == 4 ? x : w.Reshape(w.Transpose(x, {0, 2, 1, 3}), shape);
}

double ScaleOf(const NodeWriter& w, const OpContext& forward, TensorId q) {
  const double width = static_cast<double>(w.ShapeOf(q).At(-1));
  const double scale = forward.Float("scale", 0);
  return scale != 0 ? scale : 1 / std::sqrt(width);
}

void SetHeads(GradientContext& g, const HeadGradients& gradients) {
  NodeWriter& w = g.w();
  if (g.Wants(0)) g.Set(0, JoinHeads(w, gradients.q, g.XShape(0)));
  if (g.Wants(1)) g.Set(1, JoinHeads(w, gradients.k, g.XShape(1)));
  if (g.Wants(2)) g.Set(2, JoinHeads(w, gradients.v, g.XShape(2)));
}

// The gradient of a value that several things are made of; kNoTensor where none has one.
TensorId Sum(NodeWriter& w, TensorId a, TensorId b) {
  if (a == kNoTensor || b == kNoTensor) return a == kNoTensor ? b : a;
  return w.Add(a, b);
}

// Keys count as far as each sample has them.
void KeepLengths(NodeWriter& w, Heads& heads, TensorId lengths) {
  if (w.TypeOf(lengths) != DType::kInt64) {
    lengths = w.Node1("Cast", {lengths}, {IntAttribute("to", static_cast<int>(DType::kInt64))});
  }
  const std::int64_t keys = w.ShapeOf(heads.k)[2];
  const TensorId numbers = w.Node1("Range", {w.Int(0), w.Int(keys), w.Int(1)});
  const Shape column = {w.ShapeOf(lengths).Elements().value(), 1, 1, 1};
  const TensorId has = w.Node1("Less", {numbers, w.Reshape(lengths, column)});
  heads.keep = heads.keep == kNoTensor ? has : w.Node1("And", {heads.keep, has});
}

// ONNX's own. With a past, keys and values are those that it hands on: past and own ones behind
// each other, [batch, heads, past + length, width].
void AttentionGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const OpContext forward = g.forward();
  if (g.dY(3) != kNoTensor) throw Unresolved("the derivative of scores is not written");
  const std::int64_t q_heads = forward.Int("q_num_heads", 0);
  const std::int64_t kv_heads = forward.Int("kv_num_heads", 0);
  const bool past = g.HasInput(4) && g.HasInput(5);
  Heads heads{.q = SplitHeads(w, g.X(0), q_heads),
              .k = past ? g.Saved(1) : SplitHeads(w, g.X(1), kv_heads),
              .v = past ? g.Saved(2) : SplitHeads(w, g.X(2), kv_heads),
              .softcap = forward.Float("softcap", 0),
              .offset = past ? g.XShape(4)[2] : 0,
              .causal = forward.Int("is_causal", 0) != 0,
              .left = forward.Int("left_window_size", -1),
              .right = forward.Int("right_window_size", -1)};
  heads.scale = ScaleOf(w, forward, heads.q);
  if (g.HasInput(3)) (w.TypeOf(g.X(3)) == DType::kBool ? heads.keep : heads.bias) = g.X(3);
  if (g.HasInput(6)) {
    if (heads.causal) {
      throw Unresolved("the derivative of causal attention with lengths is not written");
    }
    KeepLengths(w, heads, g.X(6));
  }
  HeadGradients gradients{kNoTensor, kNoTensor, kNoTensor, kNoTensor};
  if (g.dY(0) != kNoTensor)
    gradients = DifferentiateHeads(w, heads, SplitHeads(w, g.dY(0), q_heads));
  gradients.k = Sum(w, gradients.k, g.dY(1));
  gradients.v = Sum(w, gradients.v, g.dY(2));
  if (g.Wants(3) && gradients.bias != kNoTensor) g.Set(3, gradients.bias);
  if (g.Wants(0) && gradients.q != kNoTensor) g.Set(0, JoinHeads(w, gradients.q, g.XShape(0)));
  for (const std::size_t i : {1U, 2U}) {
    TensorId gradient = i == 1 ? gradients.k : gradients.v;
    if (gradient == kNoTensor) continue;
    if (past && g.Wants(i + 3)) g.Set(i + 3, w.Slice(gradient, 2, 0, heads.offset));
    if (!g.Wants(i)) continue;
    if (past) gradient = w.Slice(gradient, 2, heads.offset, w.ShapeOf(gradient)[2] - heads.offset);
    g.Set(i, JoinHeads(w, gradient, g.XShape(i)));
  }
}

// ONNX Runtime's: query, key, value, bias of the three, mask of keys, bias of scores, past.
void MultiHeadGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const OpContext forward = g.forward();
  for (const std::size_t i : {3U, 4U, 6U, 7U}) {
    if (g.HasInput(i)) throw Unresolved("the derivative of this form of attention is not written");
  }
  if (!g.HasInput(1) || !g.HasInput(2)) {
    throw Unresolved("the derivative of this form of attention is not written");
  }
  const std::int64_t number = forward.RequiredInt("num_heads");
  Heads heads{.q = SplitHeads(w, g.X(0), number),
              .k = SplitHeads(w, g.X(1), number),
              .v = SplitHeads(w, g.X(2), number),
              .causal = forward.Int("unidirectional", 0) != 0};
  heads.scale = ScaleOf(w, forward, heads.q);
  if (g.HasInput(5)) heads.bias = g.X(5);
  const HeadGradients gradients = DifferentiateHeads(w, heads, SplitHeads(w, g.dY(), number));
  SetHeads(g, gradients);
  if (g.Wants(5)) g.Set(5, gradients.bias);
}

// ONNX Runtime's with its projection: x, weight [in, 3 hidden], bias, mask of keys. The projected
// input is computed again.
void SelfAttentionGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const OpContext forward = g.forward();
  for (const std::size_t i : {4U, 5U}) {
    if (g.HasInput(i)) throw Unresolved("the derivative of this form of attention is not written");
  }
  if (forward.HasAttribute("qkv_hidden_sizes")) {
    throw Unresolved("the derivative of attention with widths of its own is not written");
  }
  const std::int64_t number = forward.RequiredInt("num_heads");
  const Shape x = g.XShape(0), weight = g.XShape(1);
  const std::int64_t hidden = weight[1] / 3;
  TensorId all = w.Product(g.X(0), false, g.X(1), false);
  if (g.HasInput(2)) all = w.Add(all, g.X(2));
  const auto part = [&](std::int64_t i) {
    return SplitHeads(w, w.Slice(all, 2, i * hidden, hidden), number);
  };
  Heads heads{
      .q = part(0), .k = part(1), .v = part(2), .causal = forward.Int("unidirectional", 0) != 0};
  heads.scale = ScaleOf(w, forward, heads.q);
  if (g.HasInput(3)) {
    const Shape mask = g.XShape(3);
    const bool lengths = mask.rank() == 1 && mask[0] == x[0];
    if (!lengths && (mask.rank() != 2 || mask[0] != x[0] || mask[1] != x[1])) {
      throw Unresolved("the derivative of attention with this mask is not written");
    }
    if (lengths) {
      KeepLengths(w, heads, g.X(3));
    } else {
      const TensorId keep =
          w.Node1("Cast", {g.X(3)}, {IntAttribute("to", static_cast<int>(DType::kBool))});
      heads.keep = w.Reshape(keep, {x[0], 1, 1, x[1]});
    }
  }
  const HeadGradients parts = DifferentiateHeads(w, heads, SplitHeads(w, g.dY(), number));
  const Shape one = {x[0], x[1], hidden};
  const TensorId joined =
      w.Node1("Concat",
              {JoinHeads(w, parts.q, one), JoinHeads(w, parts.k, one), JoinHeads(w, parts.v, one)},
              {IntAttribute("axis", 2)});
  const Shape flat = {x[0] * x[1], 3 * hidden};
  if (g.Wants(0)) g.Set(0, w.Product(joined, false, g.X(1), true));
  if (g.Wants(1)) {
    g.Set(1,
          w.Product(w.Reshape(g.X(0), {x[0] * x[1], x[2]}), true, w.Reshape(joined, flat), false));
  }
  if (g.Wants(2)) g.Set(2, w.Reshape(w.ReduceSum(joined, {0, 1}), g.XShape(2)));
}

// In one kernel, there and back: it keeps a number per row, and computes the scores again from
// that.
void FusedAttentionGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  for (std::size_t i = 3; i < g.NumInputs(); ++i) {
    if (g.Wants(i)) throw Unresolved("the derivative of fused attention by a mask is not written");
  }
  const TensorId sums = g.Saved(1);
  std::vector<TensorId> inputs = {g.dY(), g.X(0), g.X(1), g.X(2), g.Y(), sums};
  for (std::size_t i = 3; i < g.NumInputs(); ++i) inputs.push_back(g.X(i));
  const std::vector<TensorId> gradients =
      w.Nodes(kFusedAttentionGrad, "dlcost.training", std::move(inputs), g.node().attributes, 3);
  if (g.HasInput(1)) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (g.Wants(i)) g.Set(i, gradients[i]);
    }
    return;
  }
  // One tensor holds the heads of all three.
  const std::vector<std::int64_t> axes = AttentionAxes(g.forward(), "q_axes");
  const auto heads = std::find(axes.begin(), axes.end(), 1) - axes.begin();
  g.Set(0, w.Node1("Concat", gradients, {IntAttribute("axis", heads)}));
}

// A rotation goes back by the opposite angle.
void RotaryGradient(GradientContext& g) {
  const bool contrib = !g.node().domain.empty();
  const std::size_t sine = contrib ? 3 : 2;
  std::vector<TensorId> inputs = g.node().inputs;
  inputs[0] = g.dY();
  inputs[sine] = g.w().Node1("Neg", {g.X(sine)});
  const std::vector<Attribute> attributes = g.node().attributes;
  g.Set(0, g.w().Nodes("RotaryEmbedding", g.node().domain, std::move(inputs), attributes, 1)[0]);
}

constexpr GradientDef kAttentionGradients[] = {
    {.name = "Attention", .write = AttentionGradient, .any_output = true},
    {"MultiHeadAttention", MultiHeadGradient, "com.microsoft"},
    {"Attention", SelfAttentionGradient, "com.microsoft"},
    {"FusedAttention", FusedAttentionGradient, "dlcost.training"},
    {"RotaryEmbedding", RotaryGradient},
    {"RotaryEmbedding", RotaryGradient, "com.microsoft"},
};

}  // namespace

std::span<const GradientDef> AttentionGradients() { return kAttentionGradients; }

}  // namespace dlcost
