#include "models/gradients/gradient.h"

namespace dlcost {
namespace {

TensorId Transposed(NodeWriter& w, TensorId x) {
  std::vector<std::int64_t> order;
  const std::int64_t rank = w.ShapeOf(x).Rank();
  for (std::int64_t axis = 0; axis < rank; ++axis) order.push_back(axis);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return w.Transpose(x, order);
}

// d det(X) = det(X) X^-T.
void DeterminantGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  Shape ones = g.YShape();
  ones.Append(1);
  ones.Append(1);
  const TensorId share = w.Reshape(w.Mul(g.dY(), g.Y()), ones);
  g.Set(0, w.Mul(Transposed(w, w.Contrib("Inverse", {g.X()})), share));
}

// -Y' dY Y'.
void InverseGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const TensorId inner = w.Product(g.Y(), true, g.dY(), false);
  g.Set(0, w.Node1("Neg", {w.Product(inner, false, g.Y(), true)}));
}

constexpr GradientDef kMatrixGradients[] = {{"Det", DeterminantGradient},
                                            {"Inverse", InverseGradient, "com.microsoft"},
                                            {"Inverse", InverseGradient, "ai.onnx.contrib"}};

}  // namespace

std::span<const GradientDef> MatrixGradients() { return kMatrixGradients; }

}  // namespace dlcost
