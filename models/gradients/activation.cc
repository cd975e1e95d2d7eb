#include "models/gradients/gradient.h"

namespace dlcost {
namespace {

// Those that ONNX Runtime has a gradient operator for read what it reads: the result where that is
// enough, so that the input need not be kept.

void ReluGradient(GradientContext& g) { g.Set(0, g.w().Contrib("ReluGrad", {g.dY(), g.Y()})); }

void SigmoidGradient(GradientContext& g) {
  g.Set(0, g.w().Contrib("SigmoidGrad", {g.dY(), g.Y()}));
}

void TanhGradient(GradientContext& g) { g.Set(0, g.w().Contrib("TanhGrad", {g.dY(), g.Y()})); }

void LeakyReluGradient(GradientContext& g) {
  g.Set(0, g.w().Contrib("LeakyReluGrad", {g.dY(), g.Y()},
                         {RealAttribute("alpha", g.forward().Float("alpha", 0.01))}));
}

// ONNX's own and com.microsoft's, which knows the exact form alone.
void GeluGradient(GradientContext& g) {
  const bool tanh = g.forward().String("approximate", "none") == "tanh";
  g.Set(0, g.w().Contrib(tanh ? "FastGeluGrad" : "GeluGrad", {g.dY(), g.X()}));
}

// Of x + bias, where there is one: both take the same gradient.
void BiasedGradient(GradientContext& g, std::string_view plain, std::string_view biased) {
  const TensorId gradient = g.HasInput(1) ? g.w().Contrib(biased, {g.dY(), g.X(0), g.X(1)})
                                          : g.w().Contrib(plain, {g.dY(), g.X(0)});
  for (const std::size_t i : {0U, 1U}) {
    if (g.Wants(i)) g.Set(i, gradient);
  }
}
void BiasGeluGradient(GradientContext& g) { BiasedGradient(g, "GeluGrad", "BiasGeluGrad_dX"); }
void FastGeluGradient(GradientContext& g) {
  BiasedGradient(g, "FastGeluGrad", "BiasFastGeluGrad_dX");
}

void QuickGeluGradient(GradientContext& g) {
  g.Set(0, g.w().Contrib("QuickGeluGrad", {g.dY(), g.X()},
                         {RealAttribute("alpha", g.forward().Float("alpha", 1.702))}));
}

// x sigmoid(x), as QuickGelu with a factor of one.
void SwishGradient(GradientContext& g) {
  g.Set(0, g.w().Contrib("QuickGeluGrad", {g.dY(), g.X()},
                         {RealAttribute("alpha", g.forward().Float("alpha", 1))}));
}

void SoftplusGradient(GradientContext& g) {
  g.Set(0, g.w().Mul(g.dY(), g.w().Node1("Sigmoid", {g.X()})));
}

// 1 / (1 + |x|)^2.
void SoftsignGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const TensorId root = w.Add(w.Node1("Abs", {g.X()}), w.Scalar(1, g.Type()));
  g.Set(0, w.Div(g.dY(), w.Mul(root, root)));
}

TensorId Inside(GradientContext& g, TensorId x, double low, double high) {
  NodeWriter& w = g.w();
  return w.Node1("And", {w.Node1("Greater", {x, w.Scalar(low, g.Type())}),
                         w.Node1("Less", {x, w.Scalar(high, g.Type())})});
}

TensorId Zero(GradientContext& g) { return g.w().Scalar(0, g.Type()); }

// alpha where 0 < y < 1.
void HardSigmoidGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const TensorId slope = w.Scale(g.dY(), g.forward().Float("alpha", 0.2));
  g.Set(0, w.Node1("Where", {Inside(g, g.Y(), 0, 1), slope, Zero(g)}));
}

// x / 3 + 1 / 2 where |x| < 3, one above, zero below.
void HardSwishGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const DType type = g.Type();
  const TensorId slope = w.Add(w.Scale(g.X(), 1.0 / 3), w.Scalar(0.5, type));
  const TensorId inner =
      w.Node1("Where", {w.Node1("Less", {g.X(), w.Scalar(3, type)}), w.Mul(g.dY(), slope), g.dY()});
  g.Set(0, w.Node1("Where", {w.Node1("Greater", {g.X(), w.Scalar(-3, type)}), inner, Zero(g)}));
}

// scale where x > 0, else y + shift: Elu (alpha), Selu (alpha gamma).
void ExponentialGradient(GradientContext& g, double scale, double shift) {
  NodeWriter& w = g.w();
  const DType type = g.Type();
  const TensorId slope =
      w.Node1("Where", {w.Node1("Greater", {g.X(), w.Scalar(0, type)}), w.Scalar(scale, type),
                        w.Add(g.Y(), w.Scalar(shift, type))});
  g.Set(0, w.Mul(g.dY(), slope));
}
void EluGradient(GradientContext& g) { ExponentialGradient(g, 1, g.forward().Float("alpha", 1)); }
void SeluGradient(GradientContext& g) {
  const double gamma = g.forward().Float("gamma", 1.0507009873554805);
  ExponentialGradient(g, gamma, gamma * g.forward().Float("alpha", 1.6732632423543772));
}

void ThresholdedGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const TensorId above =
      w.Node1("Greater", {g.X(), w.Scalar(g.forward().Float("alpha", 1), g.Type())});
  g.Set(0, w.Node1("Where", {above, g.dY(), Zero(g)}));
}

// 1 where x > 0, else exp(x / alpha) = y / alpha + 1.
void CeluGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const TensorId one = w.Scalar(1, g.Type());
  const double alpha = g.forward().Float("alpha", 1);
  const TensorId below = w.Add(w.Scale(g.Y(), 1 / alpha), one);
  const TensorId slope = w.Node1("Where", {w.Node1("Greater", {g.X(), Zero(g)}), one, below});
  g.Set(0, w.Mul(g.dY(), slope));
}

// dy where the limits did not hold.
void ClipGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  TensorId gradient = g.dY();
  const auto keep = [&](std::string_view comparison, TensorId limit) {
    gradient = w.Node1("Where", {w.Node1(comparison, {g.X(), limit}), gradient, Zero(g)});
  };
  const OpContext forward = g.forward();
  if (g.since() < 11) {
    if (forward.HasAttribute("min")) {
      keep("GreaterOrEqual", w.Scalar(forward.Float("min", 0), g.Type()));
    }
    if (forward.HasAttribute("max")) {
      keep("LessOrEqual", w.Scalar(forward.Float("max", 0), g.Type()));
    }
  } else {
    if (g.HasInput(1)) keep("GreaterOrEqual", g.X(1));
    if (g.HasInput(2)) keep("LessOrEqual", g.X(2));
  }
  g.Set(0, gradient);
}

// dx = dy where x > 0, else slope dy; d slope = x dy where x <= 0.
void PReluGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  if (g.since() < 7 && g.XShape(1).Elements() != Count(1)) {
    throw Unresolved("the derivative of PRelu with a slope per channel, version 6, is not written");
  }
  const TensorId positive = w.Node1("Greater", {g.X(0), Zero(g)});
  if (g.Wants(0)) {
    g.Set(0, w.Node1("Where", {positive, g.dY(), w.Mul(g.dY(), g.X(1))}));
  }
  if (g.Wants(1)) g.Set(1, w.Node1("Where", {positive, Zero(g), w.Mul(g.dY(), g.X(0))}));
}

// With t = tanh(softplus(x)): t + x (1 - t^2) sigmoid(x).
void MishGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const TensorId t = w.Node1("Tanh", {w.Node1("Softplus", {g.X()})});
  const TensorId slope =
      w.Mul(w.Mul(g.X(), w.Node1("Sigmoid", {g.X()})), w.Sub(w.Scalar(1, g.Type()), w.Mul(t, t)));
  g.Set(0, w.Mul(g.dY(), w.Add(t, slope)));
}

// The name of the counted operator says which way axes were read: since version 13 one of them.
void SoftmaxLikeGradient(GradientContext& g, std::string_view one, std::string_view many) {
  const bool one_axis = g.since() >= 13;
  const std::int64_t axis = g.forward().Int("axis", one_axis ? -1 : 1);
  g.Set(0, g.w().Contrib(one_axis ? one : many, {g.dY(), g.Y()}, {IntAttribute("axis", axis)}));
}
void SoftmaxGradient(GradientContext& g) {
  SoftmaxLikeGradient(g, "SoftmaxGrad_13", "SoftmaxGrad");
}
void LogSoftmaxGradient(GradientContext& g) {
  SoftmaxLikeGradient(g, "LogSoftmaxGrad_13", "LogSoftmaxGrad");
}

constexpr GradientDef kActivationGradients[] = {
    {"Relu", ReluGradient},
    {"Sigmoid", SigmoidGradient},
    {"Tanh", TanhGradient},
    {"LeakyRelu", LeakyReluGradient},
    {"Gelu", GeluGradient},
    {"Gelu", GeluGradient, kMicrosoft},
    {"BiasGelu", BiasGeluGradient, kMicrosoft},
    {"FastGelu", FastGeluGradient, kMicrosoft},
    {"QuickGelu", QuickGeluGradient, kMicrosoft},
    {"Swish", SwishGradient},
    {"Softplus", SoftplusGradient},
    {"Softsign", SoftsignGradient},
    {"HardSigmoid", HardSigmoidGradient},
    {"HardSwish", HardSwishGradient},
    {"Elu", EluGradient},
    {"Selu", SeluGradient},
    {"ThresholdedRelu", ThresholdedGradient},
    {"Celu", CeluGradient},
    {"Clip", ClipGradient},
    {"PRelu", PReluGradient},
    {"Mish", MishGradient},
    {"Mish", MishGradient, "dlcost.training"},
    {"Softmax", SoftmaxGradient},
    {"LogSoftmax", LogSoftmaxGradient},
};

}  // namespace

std::span<const GradientDef> ActivationGradients() { return kActivationGradients; }

}  // namespace dlcost
