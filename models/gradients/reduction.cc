#include "models/gradients/gradient.h"

namespace dlcost {
namespace {

// What a reduction goes over, and its result and gradient with the reduced axes as ones.
struct Reduced {
  Shape shape;  // of the input
  Count elements = 1;
  TensorId y = kNoTensor, dy = kNoTensor;
};

Reduced ReducedOf(GradientContext& g) {
  const OpContext forward = g.forward();
  Reduced reduced{.shape = g.XShape()};
  std::vector<std::int64_t> axes =
      forward.IntsFromInputOrAttribute(1, "axes").value_or(std::vector<std::int64_t>());
  const bool all = axes.empty() && forward.Int("noop_with_empty_axes", 0) == 0;
  std::vector<bool> gone(reduced.shape.rank(), all);
  for (const std::int64_t axis : axes) gone[NormalizeAxis(axis, gone.size())] = true;
  Shape ones = reduced.shape;
  for (std::size_t axis = 0; axis < gone.size(); ++axis) {
    if (!gone[axis]) continue;
    reduced.elements *= ones[axis];
    ones[axis] = 1;
  }
  reduced.dy = g.w().Reshape(g.dY(), ones);
  reduced.y = g.Y();
  return reduced;
}

// The result beside the input.
TensorId ResultOf(GradientContext& g, const Reduced& reduced) {
  return g.w().Reshape(reduced.y, g.w().ShapeOf(reduced.dy));
}

void SumGradient(GradientContext& g) {
  const Reduced reduced = ReducedOf(g);
  g.Set(0, g.w().Expand(reduced.dy, reduced.shape));
}

void ReduceMeanGradient(GradientContext& g) {
  const Reduced reduced = ReducedOf(g);
  const double share = reduced.elements > Count(0) ? 1 / reduced.elements.AsDouble() : 0;
  g.Set(0, g.w().Expand(g.w().Scale(reduced.dy, share), reduced.shape));
}

void ReduceExtremeGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const Reduced reduced = ReducedOf(g);
  const TensorId hit = w.Node1("Equal", {g.X(), ResultOf(g, reduced)});
  g.Set(0, w.Node1("Where", {hit, reduced.dy, w.Scalar(0, g.Type())}));
}

void SumSquareGradient(GradientContext& g) {
  const Reduced reduced = ReducedOf(g);
  g.Set(0, g.w().Mul(g.X(), g.w().Scale(reduced.dy, 2)));
}

// x / y.
void L2Gradient(GradientContext& g) {
  const Reduced reduced = ReducedOf(g);
  g.Set(0, g.w().Mul(g.X(), g.w().Div(reduced.dy, ResultOf(g, reduced))));
}

void L1Gradient(GradientContext& g) {
  const Reduced reduced = ReducedOf(g);
  g.Set(0, g.w().Mul(g.w().Node1("Sign", {g.X()}), reduced.dy));
}

// exp(x - y).
void LogSumExpGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const Reduced reduced = ReducedOf(g);
  g.Set(0, w.Mul(w.Node1("Exp", {w.Sub(g.X(), ResultOf(g, reduced))}), reduced.dy));
}

// y / x.
void ProdGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const Reduced reduced = ReducedOf(g);
  g.Set(0, w.Div(w.Mul(reduced.dy, ResultOf(g, reduced)), g.X()));
}

// 1 / sum, of which the result is the logarithm.
void LogSumGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const Reduced reduced = ReducedOf(g);
  const TensorId sum = w.Node1("Exp", {ResultOf(g, reduced)});
  g.Set(0, w.Expand(w.Div(reduced.dy, sum), reduced.shape));
}

// Each number is in the products from its own place on: what they and their gradients add up to
// from the other end, over the number. Of numbers that are not zero.
void CumProdGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const OpContext forward = g.forward();
  const std::vector<Attribute> attributes = {
      IntAttribute("exclusive", forward.Int("exclusive", 0)),
      IntAttribute("reverse", 1 - forward.Int("reverse", 0))};
  const TensorId sums = w.Node1("CumSum", {w.Mul(g.dY(), g.Y()), g.X(1)}, attributes);
  g.Set(0, w.Div(sums, g.X()));
}

// The sum from the other end.
void CumSumGradient(GradientContext& g) {
  const OpContext forward = g.forward();
  g.Set(0, g.w().Node1("CumSum", {g.dY(), g.X(1)},
                       {IntAttribute("exclusive", forward.Int("exclusive", 0)),
                        IntAttribute("reverse", 1 - forward.Int("reverse", 0))}));
}

constexpr GradientDef kReductionGradients[] = {
    {"ReduceSum", SumGradient},
    {"ReduceMean", ReduceMeanGradient},
    {"ReduceMax", ReduceExtremeGradient},
    {"ReduceMin", ReduceExtremeGradient},
    {"ReduceSumSquare", SumSquareGradient},
    {"ReduceL2", L2Gradient},
    {"ReduceL1", L1Gradient},
    {"ReduceLogSumExp", LogSumExpGradient},
    {"ReduceProd", ProdGradient},
    {"ReduceLogSum", LogSumGradient},
    {"CumSum", CumSumGradient},
    {"CumProd", CumProdGradient},
};

}  // namespace

std::span<const GradientDef> ReductionGradients() { return kReductionGradients; }

}  // namespace dlcost
