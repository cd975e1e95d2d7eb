#include "models/gradients/equation.h"
#include "models/gradients/gradient.h"

namespace dlcost {
namespace {

// C = A B: dA = dC B', dB = A' dC, each with the multiply-accumulates of the forward product. Where
// B has no batch, dB is one product over all rows of A.

Shape Flat(const Shape& shape) {
  const std::size_t last = shape.rank() - 1;
  return {shape.Product(0, last).value(), shape[last]};
}

// Of operands with at least two axes; the gradients may have more batch axes than the operands.
std::pair<TensorId, TensorId> OperandGradients(NodeWriter& w, TensorId a, bool transpose_a,
                                               TensorId b, bool transpose_b, TensorId dy,
                                               bool want_a, bool want_b) {
  TensorId da = kNoTensor, db = kNoTensor;
  if (want_a) {
    da = transpose_a ? w.Product(b, transpose_b, dy, true) : w.Product(dy, false, b, !transpose_b);
  }
  if (want_b) {
    if (w.ShapeOf(b).rank() == 2 && !transpose_a) {
      a = w.Reshape(a, Flat(w.ShapeOf(a)));
      dy = w.Reshape(dy, Flat(w.ShapeOf(dy)));
    }
    db = transpose_b ? w.Product(dy, true, a, transpose_a) : w.Product(a, !transpose_a, dy, false);
  }
  return {da, db};
}

void MatMulGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  Shape a = g.XShape(0), b = g.XShape(1), y = g.YShape();
  // A one-dimensional operand is a row or a column whose axis is dropped from the result.
  if (b.rank() == 1) {
    b = Shape{b[0], 1};
    y.Append(1);
  }
  if (a.rank() == 1) {
    a = Shape{1, a[0]};
    std::vector<std::int64_t> dims = y.dims();
    dims.insert(dims.end() - 1, 1);
    y = Shape(dims);
  }
  const auto [da, db] = OperandGradients(w, w.Reshape(g.X(0), a), false, w.Reshape(g.X(1), b),
                                         false, w.Reshape(g.dY(), y), g.Wants(0), g.Wants(1));
  if (g.Wants(0)) g.Set(0, w.Reshape(w.SumTo(da, a), g.XShape(0)));
  if (g.Wants(1)) g.Set(1, w.Reshape(w.SumTo(db, b), g.XShape(1)));
}

void FusedMatMulGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const OpContext forward = g.forward();
  if (forward.Int("transBatchA", 0) != 0 || forward.Int("transBatchB", 0) != 0) {
    throw Unresolved("the derivative of a product with exchanged batch axes is not written");
  }
  if (g.XShape(0).rank() < 2 || g.XShape(1).rank() < 2) {
    throw Unresolved("the derivative of a transposed product of vectors is not written");
  }
  const TensorId dy = w.Scale(g.dY(), forward.Float("alpha", 1));
  const auto [da, db] = OperandGradients(w, g.X(0), forward.Int("transA", 0) != 0, g.X(1),
                                         forward.Int("transB", 0) != 0, dy, g.Wants(0), g.Wants(1));
  if (g.Wants(0)) g.Set(0, da);
  if (g.Wants(1)) g.Set(1, db);
}

void GemmGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const OpContext forward = g.forward();
  if (g.Wants(0) || g.Wants(1)) {
    const TensorId dy = w.Scale(g.dY(), forward.Float("alpha", 1));
    const auto [da, db] =
        OperandGradients(w, g.X(0), forward.Int("transA", 0) != 0, g.X(1),
                         forward.Int("transB", 0) != 0, dy, g.Wants(0), g.Wants(1));
    if (g.Wants(0)) g.Set(0, da);
    if (g.Wants(1)) g.Set(1, db);
  }
  if (g.Wants(2)) g.Set(2, w.Scale(w.SumTo(g.dY(), g.XShape(2)), forward.Float("beta", 1)));
}

// Both products again in 8 bits, the gradient of the result in the type with the wider exponent
// (Micikevicius et al., "FP8 formats for deep learning", arXiv 2209.05433, section 3).
void GemmFloat8Gradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const OpContext forward = g.forward();
  if (forward.Int("transA", 0) != 0 || forward.Float("alpha", 1) != 1 || g.NumInputs() > 3) {
    throw Unresolved("the derivative of a scaled product in 8 bits is not written");
  }
  const bool transposed = forward.Int("transB", 0) != 0;
  const DType type = w.TypeOf(g.dY());
  const TensorId narrow = w.Node1(
      "Cast", {g.dY()}, {IntAttribute("to", static_cast<std::int64_t>(DType::kFloat8E5M2))});
  const auto product = [&](TensorId a, bool transpose_a, TensorId b, bool transpose_b) {
    return w.Contrib(
        "GemmFloat8", {a, b},
        {IntAttribute("transA", transpose_a ? 1 : 0), IntAttribute("transB", transpose_b ? 1 : 0),
         IntAttribute("dtype", static_cast<std::int64_t>(type))});
  };
  if (g.Wants(0)) g.Set(0, product(narrow, false, g.X(1), !transposed));
  if (g.Wants(1)) {
    g.Set(1,
          transposed ? product(narrow, true, g.X(0), false) : product(g.X(0), true, narrow, false));
  }
  if (g.Wants(2)) g.Set(2, w.SumTo(g.dY(), g.XShape(2)));
}

// A product with a weight stored in blocks of a few bits (`stored`, with what goes
// with it), which is not trained: through the weight in the type of the result, as
// bitsandbytes goes (MatMul4Bit).
void BlockwiseGradient(GradientContext& g, std::vector<TensorId> stored) {
  NodeWriter& w = g.w();
  const OpContext forward = g.forward();
  for (const std::size_t i : {1U, 2U, 3U, 4U}) {
    if (g.Wants(i)) throw Unresolved("the derivative to scales of a weight is not written");
  }
  std::vector<Attribute> attributes = {
      IntAttribute("dtype", static_cast<std::int64_t>(w.TypeOf(g.dY())))};
  for (const char* name : {"K", "N", "bits", "block_size", "quant_type"}) {
    if (forward.HasAttribute(name)) attributes.push_back(IntAttribute(name, forward.Int(name, 0)));
  }
  if (g.Wants(0)) {
    const TensorId weight =
        w.NodeWith("DequantizeWeight", "dlcost.training", std::move(stored), attributes, {true})[0];
    g.Set(0, w.Product(g.dY(), false, weight, false));
  }
}

void NBitsGradient(GradientContext& g) {
  BlockwiseGradient(g, {g.X(1), g.X(2), g.X(3), g.X(4)});
  if (g.Wants(5)) g.Set(5, g.w().SumTo(g.dY(), g.XShape(5)));
}

void Bnb4Gradient(GradientContext& g) { BlockwiseGradient(g, {g.X(1), g.X(2)}); }

Equation EquationOf(const GradientContext& g) {
  std::vector<Shape> operands;
  for (std::size_t i = 0; i < g.NumInputs(); ++i) operands.push_back(g.XShape(i));
  return SpelledEquation(g.forward().String("equation", ""), operands, g.YShape());
}

// "bij,bjk->bik": the gradient of an operand is the einsum of dy and the other operands, back to
// the operand's letters. A letter that only one operand has and the result has not was summed away:
// its gradient repeats. Of more operands than two a step runs pairs (models/decompositions).
void EinsumGradient(GradientContext& g) {
  NodeWriter& w = g.w();
  const Equation equation = EquationOf(g);
  for (std::size_t i = 0; i < g.NumInputs(); ++i) {
    if (!g.Wants(i)) continue;
    const std::string& own = equation.terms[i];
    std::string other, known;
    std::vector<TensorId> inputs = {g.dY()};
    for (std::size_t j = 0; j < g.NumInputs(); ++j) {
      if (j == i) continue;
      other += "," + equation.terms[j];
      inputs.push_back(g.X(j));
    }
    Shape ones;
    const Shape shape = g.XShape(i);
    for (std::size_t axis = 0; axis < own.size(); ++axis) {
      if (own.find(own[axis], axis + 1) != std::string::npos) {
        throw Unresolved("the derivative of a diagonal is not written");
      }
      const bool is_known = equation.result.find(own[axis]) != std::string::npos ||
                            other.find(own[axis]) != std::string::npos;
      if (is_known) known += own[axis];
      ones.Append(is_known ? shape[axis] : 1);
    }
    const TensorId gradient =
        w.Node1("Einsum", std::move(inputs),
                {TextAttribute("equation", equation.result + other + "->" + known)});
    if (w.ShapeOf(gradient).Elements() != ones.Elements()) {
      throw Unresolved("the derivative of an equation that broadcasts is not written");
    }
    g.Set(i, w.Expand(w.Reshape(gradient, ones), shape));
  }
}

constexpr GradientDef kProductGradients[] = {{"MatMul", MatMulGradient},
                                             {"Gemm", GemmGradient},
                                             {"Einsum", EinsumGradient},
                                             {"FusedMatMul", FusedMatMulGradient, "com.microsoft"},
                                             {"GemmFloat8", GemmFloat8Gradient, "com.microsoft"},
                                             {"MatMulNBits", NBitsGradient, "com.microsoft"},
                                             {"MatMulBnb4", Bnb4Gradient, "com.microsoft"}};

}  // namespace

std::span<const GradientDef> ProductGradients() { return kProductGradients; }

}  // namespace dlcost
