#include "models/decompositions/activation.h"
#include "models/decompositions/decomposition.h"

namespace dlcost {
namespace {

TensorId HalfOf(NodeWriter& w, TensorId x, std::int64_t half) {
  const Shape shape = w.ShapeOf(x);
  if (shape.rank() == 0 || shape.At(-1) % 2 != 0) throw Unresolved("an axis that has no halves");
  const std::int64_t length = shape.At(-1) / 2;
  return w.Slice(x, shape.Rank() - 1, half * length, length);
}

// Experimental operators of the first opsets.

void WriteAffine(FusedNode& f) {
  const OpContext c = f.context();
  f.Set(0, Activate(f.w(), f.X(), "affine", {c.Float("alpha", 1), c.Float("beta", 0)}));
}

void WriteScale(FusedNode& f) { f.Set(0, f.w().Scale(f.X(), f.context().Float("scale", 1))); }

void WriteScaledTanh(FusedNode& f) {
  const OpContext c = f.context();
  f.Set(0, Activate(f.w(), f.X(), "scaledtanh", {c.Float("alpha", 1), c.Float("beta", 1)}));
}

void WriteSoftplus(FusedNode& f) {
  NodeWriter& w = f.w();
  const OpContext c = f.context();
  const TensorId inner = w.Scale(f.X(), c.Float("beta", 1));
  f.Set(0, w.Scale(w.Node1("Softplus", {inner}), c.Float("alpha", 1)));
}

// What its bias per channel adds, no derivative reads.
void WriteImageScaler(FusedNode& f) {
  NodeWriter& w = f.w();
  const Shape shape = f.XShape();
  if (shape.rank() < 2) throw Unresolved("no channels to scale");
  const std::vector<double> bias = f.context().Floats("bias");
  TensorId scaled = w.Scale(f.X(), f.context().Float("scale", 1));
  std::vector<TensorId> parts;
  for (std::size_t channel = 0; channel < bias.size(); ++channel) {
    const TensorId own =
        bias.size() == 1 ? scaled : w.Slice(scaled, 1, static_cast<std::int64_t>(channel), 1);
    parts.push_back(w.Add(own, w.Scalar(bias[channel], f.Type())));
  }
  if (parts.size() == 1) scaled = parts[0];
  if (parts.size() > 1) scaled = w.Node1("Concat", parts, {IntAttribute("axis", 1)});
  f.Set(0, scaled);
}

// border = [left, top, right, bottom], or the size `scale` from the top left corner.
void WriteCrop(FusedNode& f) {
  NodeWriter& w = f.w();
  const std::vector<std::int64_t> border = f.context().RequiredInts("border");
  const Shape y = f.YShape();
  if (border.size() != 4 || y.rank() != 4) throw Unresolved("not a border of an image");
  const std::vector<std::int64_t> ends = {(Count(border[1]) + y[2]).value(),
                                          (Count(border[0]) + y[3]).value()};
  f.Set(0, w.Node1("Slice", {f.X(), w.Ints({border[1], border[0]}), w.Ints(ends), w.Ints({2, 3})}));
}

// ONNX Runtime's.

void WriteSum(FusedNode& f) {
  TensorId sum = f.X();
  for (std::size_t i = 1; i < f.NumInputs(); ++i) {
    if (f.Has(i)) sum = f.w().Add(sum, f.X(i));
  }
  f.Set(0, sum);
}

// The half in front times the Gelu of the half behind.
void WriteBiasSplitGelu(FusedNode& f) {
  NodeWriter& w = f.w();
  const TensorId x = w.Add(f.X(0), f.X(1));
  f.Set(0, w.Mul(HalfOf(w, x, 0), Activate(w, HalfOf(w, x, 1), "gelu")));
}

// Numbers as pairs along the last axis.
void WriteComplex(FusedNode& f, bool conjugated) {
  NodeWriter& w = f.w();
  const TensorId ar = HalfOf(w, f.X(0), 0), ai = HalfOf(w, f.X(0), 1);
  const TensorId br = HalfOf(w, f.X(1), 0), bi = HalfOf(w, f.X(1), 1);
  const TensorId squares[] = {w.Mul(ar, br), w.Mul(ai, bi)};
  const TensorId cross[] = {w.Mul(ai, br), w.Mul(ar, bi)};
  const TensorId real = conjugated ? w.Add(squares[0], squares[1]) : w.Sub(squares[0], squares[1]);
  const TensorId imaginary = conjugated ? w.Sub(cross[0], cross[1]) : w.Add(cross[0], cross[1]);
  f.Set(0, w.Node1("Concat", {real, imaginary}, {IntAttribute("axis", -1)}));
}
void WriteComplexMul(FusedNode& f) { WriteComplex(f, false); }
void WriteComplexMulConj(FusedNode& f) { WriteComplex(f, true); }

// Swish(a) b of two inputs.
void WriteSwiglu(FusedNode& f) {
  NodeWriter& w = f.w();
  const TensorId gate =
      w.Contrib("QuickGelu", {f.X(0)}, {RealAttribute("alpha", f.context().Float("alpha", 1))});
  f.Set(0, w.Mul(gate, f.X(1)));
}

// Softmax of x + bias over all axes from `axis` on.
void WriteBiasSoftmax(FusedNode& f) {
  NodeWriter& w = f.w();
  const Shape shape = f.XShape();
  const std::size_t axis = NormalizeAxis(f.context().Int("axis", 1), shape.rank());
  const Shape rows = {shape.Product(0, axis).value(), shape.Product(axis, shape.rank()).value()};
  const TensorId x = w.Reshape(w.Add(f.X(0), f.X(1)), rows);
  f.Set(0, w.Reshape(w.Node1("Softmax", {x}, {IntAttribute("axis", -1)}), shape));
}

constexpr Decomposition kPointwiseDecompositions[] = {
    {"Affine", WriteAffine},
    {"Scale", WriteScale},
    {"ScaledTanh", WriteScaledTanh},
    {"ParametricSoftplus", WriteSoftplus},
    {"ImageScaler", WriteImageScaler},
    {"Crop", WriteCrop},
    {"SwiGLU", WriteSwiglu},
    {"BiasAdd", WriteSum, kMicrosoft},
    {"BiasSplitGelu", WriteBiasSplitGelu, kMicrosoft},
    {"BiasSoftmax", WriteBiasSoftmax, kMicrosoft},
    {"ComplexMul", WriteComplexMul, kMicrosoft},
    {"ComplexMulConj", WriteComplexMulConj, kMicrosoft},
};

}  // namespace

std::span<const Decomposition> PointwiseDecompositions() { return kPointwiseDecompositions; }

}  // namespace dlcost
