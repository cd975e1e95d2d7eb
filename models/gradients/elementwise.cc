#include <cmath>
#include <numbers>

#include "models/gradients/gradient.h"
#include "models/operators/op_def.h"

namespace dlcost {
namespace {

// What broadcasting repeated, GradientContext::Set sums.

void AddGradient(GradientContext& g) {
  for (std::size_t i = 0; i < g.NumInputs(); ++i) {
    if (g.Wants(i)) g.Set(i, g.dY());
  }
}

void SubGradient(GradientContext& g) {
  if (g.Wants(0)) g.Set(0, g.dY());
  // Summed first: fewer elements to negate.
  if (g.Wants(1)) g.Set(1, g.w().Node1("Neg", {g.w().SumTo(g.dY(), g.XShape(1))}));
}

void MulGradient(GradientContext& g) {
  for (const std::size_t i : {0U, 1U}) {
    if (g.Wants(i)) g.Set(i, g.w().Mul(g.dY(), g.X(1 - i)));
  }
}

// d(a / b) = da / b - db y / b.
void DivGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const TensorId quotient = w.Div(g.dY(), g.X(1));
  if (g.Wants(0)) g.Set(0, quotient);
  if (g.Wants(1)) g.Set(1, w.Node1("Neg", {w.Mul(quotient, g.Y())}));
}

// x^p: p x^(p-1) dx + y log(x) dp.
void PowGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  if (g.Wants(0)) {
    const OpContext forward = g.forward();
    const Value* exponent = forward.InputValue(1);
    const DType type = g.Type();
    if (exponent != nullptr && exponent->size() == 1) {
      const double p = exponent->Real(0);
      TensorId power = g.X(0);
      if (p == 0.5) {
        g.Set(0, w.Div(w.Scale(g.dY(), 0.5), g.Y()));
        return;
      }
      if (p != 2) power = w.Node1("Pow", {g.X(0), w.Scalar(p - 1, type)});
      g.Set(0, w.Mul(g.dY(), w.Scale(power, p)));
    } else {
      TensorId power = g.X(1);
      if (w.TypeOf(power) != type) {
        power = w.Node1("Cast", {power}, {IntAttribute("to", static_cast<std::int64_t>(type))});
      }
      const TensorId less = w.Sub(power, w.Scalar(1, type));
      g.Set(0, w.Mul(g.dY(), w.Mul(power, w.Node1("Pow", {g.X(0), less}))));
    }
  }
  if (g.Wants(1)) g.Set(1, w.Mul(g.dY(), w.Mul(g.Y(), w.Node1("Log", {g.X(0)}))));
}

void NegGradient(GradientContext& g) { g.Set(0, g.w().Node1("Neg", {g.dY()})); }
void IdentityGradient(GradientContext& g) { g.Set(0, g.dY()); }
void ExpGradient(GradientContext& g) { g.Set(0, g.w().Mul(g.dY(), g.Y())); }
void LogGradient(GradientContext& g) { g.Set(0, g.w().Div(g.dY(), g.X())); }

void AbsGradient(GradientContext& g) { g.Set(0, g.w().Mul(g.dY(), g.w().Node1("Sign", {g.X()}))); }

// 1 / (2 y).
void SqrtGradient(GradientContext& g) { g.Set(0, g.w().Div(g.w().Scale(g.dY(), 0.5), g.Y())); }

// -y^2.
void ReciprocalGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  g.Set(0, w.Node1("Neg", {w.Mul(g.dY(), w.Mul(g.Y(), g.Y()))}));
}

void SinGradient(GradientContext& g) { g.Set(0, g.w().Mul(g.dY(), g.w().Node1("Cos", {g.X()}))); }

void CosGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  g.Set(0, w.Node1("Neg", {w.Mul(g.dY(), w.Node1("Sin", {g.X()}))}));
}

// sign / (of_x x^2 + squares), or over its root: the inverse functions.
void InverseFunctionGradient(GradientContext& g, double sign, double squares, double of_x,
                             bool root) {
  NodeWriter& w = g.w();
  const TensorId square = w.Scale(w.Mul(g.X(), g.X()), of_x);
  TensorId divisor = w.Add(square, w.Scalar(squares, g.Type()));
  if (root) divisor = w.Node1("Sqrt", {divisor});
  g.Set(0, w.Div(w.Scale(g.dY(), sign), divisor));
}
void AsinGradient(GradientContext& g) { InverseFunctionGradient(g, 1, 1, -1, true); }
void AcosGradient(GradientContext& g) { InverseFunctionGradient(g, -1, 1, -1, true); }
void AtanGradient(GradientContext& g) { InverseFunctionGradient(g, 1, 1, 1, false); }
void AsinhGradient(GradientContext& g) { InverseFunctionGradient(g, 1, 1, 1, true); }
void AcoshGradient(GradientContext& g) { InverseFunctionGradient(g, 1, -1, 1, true); }
void AtanhGradient(GradientContext& g) { InverseFunctionGradient(g, 1, 1, -1, false); }

// 1 + y^2.
void TanGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  g.Set(0, w.Mul(g.dY(), w.Add(w.Mul(g.Y(), g.Y()), w.Scalar(1, g.Type()))));
}

void SinhGradient(GradientContext& g) { g.Set(0, g.w().Mul(g.dY(), g.w().Node1("Cosh", {g.X()}))); }
void CoshGradient(GradientContext& g) { g.Set(0, g.w().Mul(g.dY(), g.w().Node1("Sinh", {g.X()}))); }

// 2 / sqrt(pi) exp(-x^2).
void ErfGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const TensorId power = w.Node1("Exp", {w.Node1("Neg", {w.Mul(g.X(), g.X())})});
  g.Set(0, w.Mul(g.dY(), w.Scale(power, 2 / std::sqrt(std::numbers::pi))));
}

void CastGradient(GradientContext& g) {
  const DType to = g.w().TypeOf(g.X());
  g.Set(0, g.w().TypeOf(g.dY()) == to
               ? g.dY()
               : g.w().Node1("Cast", {g.dY()}, {IntAttribute("to", static_cast<int>(to))}));
}

// The remainder follows the dividend wherever it does not jump, and the divisor as often as that
// was taken off: y = x - n d, so dd = -n dy with n = (x - y) / d.
void ModGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  if (g.Wants(0)) g.Set(0, g.dY());
  if (!g.Wants(1)) return;
  const TensorId times = w.Div(w.Sub(g.Y(), g.X(0)), g.X(1));
  g.Set(1, w.Mul(g.dY(), times));
}

// x less the bias, x plus it, and 0 up to lambd.
void ShrinkGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const TensorId limit = w.Scalar(g.forward().Float("lambd", 0.5), g.Type());
  const TensorId moves = w.Node1("Greater", {w.Node1("Abs", {g.X()}), limit});
  g.Set(0, w.Node1("Where", {moves, g.dY(), w.Scalar(0, g.Type())}));
}

// dy where the condition chose this input.
void WhereGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const TensorId zero = w.Scalar(0, w.TypeOf(g.dY()));
  if (g.Wants(1)) g.Set(1, w.Node1("Where", {g.X(0), g.dY(), zero}));
  if (g.Wants(2)) g.Set(2, w.Node1("Where", {g.X(0), zero, g.dY()}));
}

// To the input that the result is equal to.
void ExtremeGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const TensorId zero = w.Scalar(0, g.Type());
  for (std::size_t i = 0; i < g.NumInputs(); ++i) {
    if (!g.Wants(i)) continue;
    g.Set(i, w.Node1("Where", {w.Node1("Equal", {g.X(i), g.Y()}), g.dY(), zero}));
  }
}

void MeanGradient(GradientContext& g) {
  const TensorId share = g.w().Scale(g.dY(), 1.0 / static_cast<double>(g.NumInputs()));
  for (std::size_t i = 0; i < g.NumInputs(); ++i) {
    if (g.Wants(i)) g.Set(i, share);
  }
}

constexpr GradientDef kElementwiseGradients[] = {
    {"Add", AddGradient},
    {"Sum", AddGradient},
    {"Sub", SubGradient},
    {"Mul", MulGradient},
    {"Div", DivGradient},
    {"Pow", PowGradient},
    {"Neg", NegGradient},
    {"Identity", IdentityGradient},
    {"Exp", ExpGradient},
    {"Log", LogGradient},
    {"Abs", AbsGradient},
    {"Sqrt", SqrtGradient},
    {"Reciprocal", ReciprocalGradient},
    {"Sin", SinGradient},
    {"Cos", CosGradient},
    {"Tan", TanGradient},
    {"Asin", AsinGradient},
    {"Acos", AcosGradient},
    {"Atan", AtanGradient},
    {"Sinh", SinhGradient},
    {"Cosh", CoshGradient},
    {"Asinh", AsinhGradient},
    {"Acosh", AcoshGradient},
    {"Atanh", AtanhGradient},
    {"Erf", ErfGradient},
    {"Cast", CastGradient},
    {.name = "CastLike", .write = CastGradient, .only_first = true},
    {"Where", WhereGradient},
    {"Max", ExtremeGradient},
    {"Min", ExtremeGradient},
    {"Mean", MeanGradient},
    {"Mod", ModGradient},
    {"Shrink", ShrinkGradient},
    {"Floor"},
    {"Ceil"},
    {"Round"},
    {"Sign"},
    {"OneHot"},
    {"Hardmax"},
    {"Bernoulli"},
};

}  // namespace

std::span<const GradientDef> ElementwiseGradients() { return kElementwiseGradients; }

}  // namespace dlcost
