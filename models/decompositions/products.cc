#include "models/decompositions/activation.h"
#include "models/decompositions/decomposition.h"
#include "models/gradients/equation.h"

namespace dlcost {
namespace {

// ONNX Runtime's fused products: the product, and what it does to each result.

std::vector<double> ParametersOf(const OpContext& context) {
  std::vector<double> parameters;
  for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (context.HasAttribute(name)) parameters.push_back(context.Float(name, 0));
  }
  return parameters;
}

void WriteProduct(FusedNode& f, std::string_view op, std::string_view domain) {
  const TensorId y =
      f.w().Nodes(op, domain, f.node().inputs, f.AttributesWithout(kActivation), 1)[0];
  f.Set(0, Activate(f.w(), y, f.context().String("activation", ""), ParametersOf(f.context())));
}

void WriteFusedGemm(FusedNode& f) { WriteProduct(f, "Gemm", ""); }
void WriteFusedMatMul(FusedNode& f) { WriteProduct(f, "FusedMatMul", "com.microsoft"); }

void WriteGemmFastGelu(FusedNode& f) {
  NodeWriter& w = f.w();
  std::vector<TensorId> inputs = {w.Product(f.X(0), false, f.X(1), false)};
  if (f.Has(2)) inputs.push_back(f.X(2));
  f.Set(0, w.Contrib("FastGelu", inputs));
}

// |a - b|^2 = |a|^2 + |b|^2 - 2 a b, as PyTorch's cdist has it for more than 25 rows.
void WriteDistances(FusedNode& f) {
  NodeWriter& w = f.w();
  const auto squares = [&](TensorId x) { return w.ReduceSum(w.Mul(x, x), {1}); };
  const TensorId across = w.Contrib("FusedMatMul", {f.X(0), f.X(1)},
                                    {IntAttribute("transB", 1), RealAttribute("alpha", -2)});
  const TensorId others = w.Transpose(squares(f.X(1)), {1, 0});
  const TensorId sum = w.Add(w.Add(across, squares(f.X(0))), others);
  const bool root = f.context().String("metric", "sqeuclidean") == "euclidean";
  f.Set(0, root ? w.Node1("Sqrt", {sum}) : sum);
}

// The letters of both terms that something behind them wants, each once.
std::string PairOf(const std::string& left, const std::string& right, const std::string& wanted) {
  std::string kept;
  for (const char letter : left + right) {
    const bool is_new = kept.find(letter) == std::string::npos;
    if (is_new && wanted.find(letter) != std::string::npos) kept += letter;
  }
  return kept;
}

// Pairs from left to right, as frameworks run it and autograd differentiates it: each keeps its
// result, and its two gradients cost one product each.
void WriteEinsum(FusedNode& f) {
  if (f.NumInputs() < 3) throw Unresolved("it is one pair");
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < f.NumInputs(); ++i) shapes.push_back(f.XShape(i));
  const Equation equation = SpelledEquation(f.context().String("equation", ""), shapes, f.YShape());
  TensorId left = f.X(0);
  std::string term = equation.terms[0];
  for (std::size_t i = 1; i < f.NumInputs(); ++i) {
    const bool last = i + 1 == f.NumInputs();
    std::string wanted = equation.result;
    for (std::size_t j = i + 1; j < f.NumInputs(); ++j) wanted += equation.terms[j];
    const std::string& right = equation.terms[i];
    const std::string result = last ? equation.result : PairOf(term, right, wanted);
    left = f.w().Node1("Einsum", {left, f.X(i)},
                       {TextAttribute("equation", term + "," + right + "->" + result)});
    term = result;
  }
  f.Set(0, left);
}

constexpr Decomposition kProductDecompositions[] = {
    {"FusedGemm", WriteFusedGemm, kMicrosoft},
    {"FusedMatMulActivation", WriteFusedMatMul, kMicrosoft},
    {"TransposeMatMul", WriteFusedMatMul, kMicrosoft},
    {"GemmFastGelu", WriteGemmFastGelu, kMicrosoft},
    {"CDist", WriteDistances, kMicrosoft},
    {"Einsum", WriteEinsum},
};

}  // namespace

std::span<const Decomposition> ProductDecompositions() { return kProductDecompositions; }

}  // namespace dlcost
